import { describe, expect, it } from 'vitest';
import { conditions, fillIn, page, pivot, section, tableOf } from './markdown.mjs';

const finding = {
  id: 'uncontended',
  title: 'Acquire and release',
  columns: ['who', 'p50 µs'],
  table: [['Conclave lock', 500]],
  notes: ['In turns.'],
  data: {},
};

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

describe("a benchmark's page", () => {
  it('has tables with the same number of columns in each line', () => {
    expect(tableOf(['a', 'b'], [[1, 'x|y']])).toBe('| a | b |\n|---|---|\n| 1 | x\\|y |\n');
  });

  it('shows a finding with its notes', () => {
    expect(section(finding, '##')).toBe(
      [
        '## Acquire and release\n',
        '| who | p50 µs |\n|---|---|\n| Conclave lock | 500 |\n',
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
      '## Promises',
      expect.stringContaining('2026-11-21'),
      '## Acquire and release',
      expect.stringContaining('2026-11-20'),
      '## Acquire and release',
    ]);
  });

  it('begins with an introduction if it has one', () => {
    expect(page([results], [])).toMatch(/^# Results of the benchmark\n\n## Promises\n/);
    expect(page([results], [], 'See there.')).toMatch(
      /^# Results of the benchmark\n\nSee there\.\n\n## Promises\n/,
    );
  });

  it('has the promises first, also those that were not measured', () => {
    const table = [['2000 (default)', 10, 1]];
    const counted = {
      ...finding,
      id: 'false-takeovers',
      columns: ['lease ms', 'elections', 'terms that ended'],
      table,
    };
    const text = page([{ ...results, findings: [counted] }], []);
    expect(text).toContain('## Promises\n\n| promise | measured | kept |\n');
    expect(text).toContain('beside busy processes | 1 lost | **no** |\n');
    expect(text).toContain('Candidates that wait write nothing | – | not measured |\n');
  });

  it('has the short table of a finding, if the finding says how to shorten it', () => {
    expect(section(compared, '##')).toContain(
      '## Acquire and release\n\np50 µs:\n\n| servers | ours | theirs |',
    );
    expect(section(finding, '##')).not.toContain('All values');
  });

  it('replaces the text between the marks of a document', () => {
    const document = 'before\n<!-- verdict: begin -->\nold\n<!-- verdict: end -->\nafter\n';
    const filled = fillIn(document, 'new\n');
    expect(filled).toBe('before\n<!-- verdict: begin -->\n\nnew\n\n<!-- verdict: end -->\nafter\n');
    expect(fillIn(filled, 'new\n')).toBe(filled);
    expect(() => fillIn('no marks', 'new')).toThrow('expected <!-- verdict: begin -->');
  });
});
