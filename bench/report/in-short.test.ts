import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inShort } from './in-short.mjs';

const docs = join(import.meta.dirname, '../../docs');
const published = () => JSON.parse(readFileSync(join(docs, 'benchmarks/results.json'), 'utf8'));

describe('the results in short', () => {
  it('are ten lines of what is published, and stand at the top of the page', () => {
    const text = inShort(published());
    expect(text.trim().split('\n')).toHaveLength(10);
    const page = readFileSync(join(docs, 'benchmarks.md'), 'utf8');
    expect(page).toContain(`<!-- in short: begin -->\n\n${text}\n<!-- in short: end -->`);
    expect(page.indexOf('## In short')).toBeLessThan(page.indexOf('## What is measured'));
  });

  it('leave out a line of which a figure is missing, and count the bars of all findings', () => {
    const bars = [
      { what: 'a', measured: 1, bar: 2 },
      { what: 'b', measured: 3, bar: 2 },
    ];
    const finding = { id: 'memory', title: '', columns: [''], table: [['other']], bars, notes: [], data: {} };
    const text = inShort([{ ...published()[0], findings: [finding] }]);
    expect(text).toMatch(/^- \*\*1 of 2 bars\*\*/);
  });
});
