import { describe, expect, it } from 'vitest';
import { barRow, conditions, fillIn, page, section, tableOf } from './markdown.mjs';

const finding = {
  id: 'uncontended',
  title: 'Acquire and release',
  columns: ['who', 'p50 µs'],
  table: [['Conclave lock', 500]],
  bars: [
    { what: 'p50', measured: 500, bar: 600, unit: 'µs' },
    { what: 'requests', measured: 4, bar: 3 },
  ],
  notes: ['In turns.'],
  data: {},
};

const results = {
  date: '2026-11-21T18:00:00.000Z',
  args: ['--quick'],
  seconds: 119,
  machine: { processor: 'A processor', cores: 2, memoryGb: 8, kernel: 'Linux 6', versions: { Node: 'v20' } },
  before: { load: 0.1, stolenTicks: 10, allTicks: 1000 },
  after: { load: 1.9, stolenTicks: 60, allTicks: 2000 },
  findings: [finding],
  failures: [{ row: 'memory', reason: 'out of it' }],
};

it('a bar is shown with its unit and whether it is met', () => {
  expect(barRow({ what: 'p50', measured: 500, bar: 600, unit: 'µs' })).toEqual([
    'p50',
    '500 µs',
    '≤ 600 µs',
    'yes',
  ]);
  expect(barRow({ what: 'speed', measured: 1, bar: 2, atLeast: true })).toEqual([
    'speed',
    '1',
    '≥ 2',
    '**no**',
  ]);
});

describe("a benchmark's page", () => {
  it('has tables with the same number of columns in each line', () => {
    expect(tableOf(['a', 'b'], [[1, 'x|y']])).toBe('| a | b |\n|---|---|\n| 1 | x\\|y |\n');
  });

  it('shows a finding with its bars and notes', () => {
    expect(section(finding, '##')).toBe(
      [
        '## Acquire and release\n',
        '| who | p50 µs |\n|---|---|\n| Conclave lock | 500 |\n',
        '| bar | measured | is to be | met |\n|---|---|---|---|\n| p50 | 500 µs | ≤ 600 µs | yes |\n| requests | 4 | ≤ 3 | **no** |\n',
        '- In turns.\n',
      ].join('\n'),
    );
  });

  it('describes the machine, and how busy it was with other things', () => {
    const text = conditions(results);
    expect(text).toContain('`npm run bench -- --quick`, 2026-11-21, 2 minutes.');
    expect(text).toContain('A processor, 2 cores, 8 GB; Linux 6; Node v20.');
    expect(text).toContain('Load average 0.1 at the beginning, 1.9 at the end');
    expect(text).toContain("5.0 % of the processors' time");
    expect(conditions({ ...results, args: ['--only', 'memory', '--out', 'a-folder', '--docs'] })).toContain(
      '`npm run bench -- --only memory --docs`',
    );
    const { before, after, ...unrecorded } = results;
    expect(conditions({ ...unrecorded, remark: 'Beside other work.' })).toMatch(
      /v20\. Beside other work\.\n$/,
    );
  });

  it('reports failures, and shows the plots of its findings', () => {
    const text = page([results], ['../results/uncontended.svg', 'herd.svg']);
    expect(text).toContain('**memory failed**: out of it');
    expect(text).toContain(
      '\n## Acquire and release\n\n![uncontended.svg](../results/uncontended.svg)\n\n| who',
    );
    expect(text).not.toContain('herd.svg');
  });

  it('has the conditions of each run before its findings', () => {
    const earlier = { ...results, date: '2026-11-20T18:00:00.000Z', failures: [] };
    expect(page([results, earlier], []).match(/A processor/g)).toHaveLength(1);
    expect(page([results, earlier], [])).toContain('2026-11-20, 2 minutes, on the same machine. Load');
    const headings = page([results, earlier], []).match(/^(?:## .*|.*, 2026-11-\d\d, )/gm);
    expect(headings).toEqual([
      expect.stringContaining('2026-11-21'),
      '## Acquire and release',
      expect.stringContaining('2026-11-20'),
      '## Acquire and release',
    ]);
  });

  it('begins with an introduction if it has one', () => {
    expect(page([results], [])).toMatch(/^# Results of the benchmark\n\n`npm run bench/);
    expect(page([results], [], 'See there.')).toMatch(
      /^# Results of the benchmark\n\nSee there\.\n\n`npm run/,
    );
  });

  it('replaces the text between the marks of a document', () => {
    const document = 'before\n<!-- results: begin -->\nold\n<!-- results: end -->\nafter\n';
    const filled = fillIn(document, 'new\n');
    expect(filled).toBe('before\n<!-- results: begin -->\n\nnew\n\n<!-- results: end -->\nafter\n');
    expect(fillIn(filled, 'new\n')).toBe(filled);
    expect(() => fillIn('no marks', 'new')).toThrow('expected <!-- results: begin -->');
  });
});
