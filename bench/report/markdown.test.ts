import { describe, expect, it } from 'vitest';
import { conditions, fillIn, page, pivot, tableOf } from './markdown.mjs';

// verdict.test.ts compares the page of the published figures with `page()` of them. Here is what these figures have no case of, or may lose.
const compared = {
  id: 'uncontended',
  title: 'Acquire and release',
  columns: ['servers', 'who', 'p50 µs'],
  table: [
    [1, 'ours', 500],
    [1, 'theirs', 600],
    [5, 'ours', 1],
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
  findings: [compared],
  failures: [{ row: 'memory', reason: 'out of it' }],
};

describe("a benchmark's page", () => {
  it('leaves a setting out of a short table in which nothing can be compared, unless one contestant was measured alone', () => {
    expect(pivot(compared, compared.summary)).toBe(
      '| servers | ours | theirs |\n|---|---|---|\n| 1 | 500 | 600 |\n',
    );
    const ours = compared.table.filter(([, who]) => who === 'ours');
    expect(pivot({ ...compared, table: ours }, compared.summary)).toContain('| 5 | 1 |\n');
  });

  it('has tables with the same number of columns in each line', () => {
    expect(tableOf(['a', 'b'], [[1, 'x|y']])).toBe('| a | b |\n|---|---|\n| 1 | x\\|y |\n');
  });

  it('describes the machine, and how busy it was with other things', () => {
    const text = conditions(results);
    expect(text).toContain('`npm run bench -- --quick`, 2026-11-21, 2 minutes.');
    expect(text).toContain("5.0 % of the processors' time");
    expect(conditions({ ...results, args: ['--only', 'memory', '--out', 'a-folder', '--docs'] })).toContain(
      '`npm run bench -- --only memory --docs`',
    );
    const { before, after, ...unrecorded } = results;
    expect(conditions({ ...unrecorded, remark: 'Beside other work.' })).toMatch(
      /v20\. Beside other work\.\n$/,
    );
  });

  it('reports failures, and needs no introduction', () => {
    const text = page([results], []);
    expect(text).toMatch(/^# Results of the benchmark\n\n## Promises\n/);
    expect(text).toContain('**memory failed**: out of it');
  });

  it('replaces the text between the marks of a document', () => {
    const document = 'before\n<!-- verdict: begin -->\nold\n<!-- verdict: end -->\nafter\n';
    const filled = fillIn(document, 'new\n');
    expect(filled).toBe('before\n<!-- verdict: begin -->\n\nnew\n\n<!-- verdict: end -->\nafter\n');
    expect(fillIn(filled, 'new\n')).toBe(filled);
    expect(() => fillIn('no marks', 'new')).toThrow('expected <!-- verdict: begin -->');
  });
});
