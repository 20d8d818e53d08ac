import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { INTRODUCTION, page } from './markdown.mjs';
import { verdict } from './verdict.mjs';

const root = join(import.meta.dirname, '../..');
const results = join(root, 'bench/results');
const published = () => JSON.parse(readFileSync(join(results, 'results.json'), 'utf8'));
const document = () => readFileSync(join(root, 'docs/benchmarks.md'), 'utf8');
const bars = [
  { what: 'a', measured: 1, bar: 2 },
  { what: 'b', measured: 3, bar: 2 },
];
const handovers = (ours: number, theirs: number) => ({
  id: 'election-handover',
  title: '',
  columns: ['servers', 'contenders', 'pace', 'who', 'p50 µs'],
  table: [
    [1, 15, 'at once', 'Conclave election', ours],
    [1, 15, 'at once', 'Curator LeaderLatch', theirs],
  ],
  ...{ bars, notes: [], data: {} },
});

describe('the verdict', () => {
  it('has a line for each of thirteen questions of what is published, and stands at the top of the page', () => {
    const text = verdict(published());
    expect(text.match(/^\| .* \|$/gm)).toHaveLength(1 + 13);
    expect(document()).toContain(`<!-- verdict: begin -->\n\n${text}\n<!-- verdict: end -->`);
    expect(document().indexOf('## In short')).toBeLessThan(document().indexOf('## What is measured'));
  });

  it('leaves out a line of which a figure is missing, and counts the bars of all findings', () => {
    const finding = { ...handovers(1, 1), columns: [''], table: [['other']] };
    const text = verdict([{ ...published()[0], findings: [finding] }]);
    expect(text).not.toContain('candidates');
    expect(text).toContain('has set itself 2 bars, and meets 1');
  });

  it.each([
    [89, 'faster'],
    [109, 'as fast as LeaderLatch'],
    [111, 'slower than LeaderLatch'],
  ])('says of %i beside 100 that Conclave is %s', (ours, said) => {
    const text = verdict([{ ...published()[0], findings: [handovers(ours, 100)] }]);
    expect(text).toContain(`15 candidates | ${ours} µs | LeaderLatch 100 µs | ${said} |`);
  });
});

describe('the page of all results', () => {
  it('is that of the published figures', () => {
    const plots = readdirSync(results).filter((name) => name.endsWith('.svg'));
    expect(readFileSync(join(results, 'results.md'), 'utf8')).toBe(page(published(), plots, INTRODUCTION));
  });
});
