import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fillIn } from './markdown.mjs';
import { barsOf, pivot, summary } from './summary.mjs';

const compared = {
  id: 'uncontended',
  title: 'Acquire and release',
  columns: ['servers', 'who', 'p50 µs', 'p99 µs'],
  table: [
    [1, 'ours', 500, 900],
    [1, 'theirs', 600, 800],
    [3, 'ours', 900, 1900],
    [3, 'theirs', 1000, 1800],
  ],
  summary: { lines: ['servers'], across: 'who', value: 'p50 µs' },
  bars: [
    { what: 'p50', measured: 500, bar: 600, unit: 'µs' },
    { what: 'requests', measured: 4, bar: 3 },
  ],
  notes: ['In turns.'],
  data: {},
};
const alone = {
  ...compared,
  id: 'memory',
  title: 'Memory',
  summary: undefined,
  bars: [{ what: 'heap', measured: 7, bar: 8, unit: 'kB' }],
};

const results = {
  date: '2026-11-21T18:00:00.000Z',
  args: ['--docs'],
  seconds: 119,
  machine: { processor: 'A processor', cores: 2, memoryGb: 8, kernel: 'Linux 6', versions: { Node: 'v20' } },
  before: { load: 0.1, stolenTicks: 10, allTicks: 1000 },
  after: { load: 1.9, stolenTicks: 60, allTicks: 2000 },
  findings: [compared, alone],
  failures: [{ row: 'herd', reason: 'out of memory' }],
};

describe("a finding's short table", () => {
  it('has a line for each setting and a column for each contestant', () => {
    expect(pivot(compared, compared.summary)).toBe(
      '| servers | ours | theirs |\n|---|---|---|\n| 1 | 500 | 600 |\n| 3 | 900 | 1000 |\n',
    );
  });

  it('shows only the contestants that its row names, in that order, of those that took part', () => {
    const only = ['theirs', 'absent', 'ours'];
    expect(pivot(compared, { ...compared.summary, only })).toContain('| servers | theirs | ours |\n');
  });

  it('leaves out a setting in which nothing can be compared, unless one contestant was measured alone', () => {
    const table = [...compared.table, [5, 'ours', 1, 2]];
    expect(pivot({ ...compared, table }, compared.summary)).not.toContain('| 5 |');
    const ours = table.filter(([, who]) => who === 'ours');
    expect(pivot({ ...compared, table: ours }, compared.summary)).toContain('| 5 | 1 |\n');
  });

  it('has a dash for a contestant that is missing in a setting', () => {
    const table = [...compared.table, [1, 'others', 700, 800]];
    expect(pivot({ ...compared, table }, compared.summary)).toContain('| 3 | 900 | 1000 | – |\n');
  });
});

describe('a summary', () => {
  it('has the bars that are missed, and says how many are met', () => {
    expect(barsOf(results.findings, '###')).toBe(
      [
        '### Bars\n',
        '2 of 3 are met. These are missed:\n',
        [
          '| row | bar | measured | is to be | met |',
          '|---|---|---|---|---|',
          '| uncontended | requests | 4 | ≤ 3 | **no** |\n',
        ].join('\n'),
      ].join('\n'),
    );
    expect(barsOf([alone], '###')).toBe('### Bars\n\n1 of 1 are met.\n');
  });

  it('has the conditions, what failed, and tables and plots of the findings that have a summary', () => {
    const text = summary([results], ['benchmarks/uncontended.svg', 'benchmarks/memory.svg'], '###');
    expect(text).toContain('`npm run bench -- --docs`, 2026-11-21, 2 minutes.');
    expect(text).toContain('**herd failed**: out of memory');
    expect(text).toContain('### Acquire and release\n\np50 µs:\n\n| servers | ours | theirs |');
    expect(text).toContain('![uncontended.svg](benchmarks/uncontended.svg)');
    expect(text).not.toContain('### Memory');
    expect(text).not.toContain('memory.svg');
  });

  it('has its place in the document', () => {
    const document = readFileSync(join(import.meta.dirname, '../../docs/benchmarks.md'), 'utf8');
    const filled = fillIn(document, summary([results], [], '###'));
    expect(filled).toContain('### Acquire and release\n');
    expect(filled).not.toContain('### Uncontended acquire and release\n');
  });
});
