import { describe, expect, it } from 'vitest';
import { withRun } from './published.mjs';

const finding = (id: string, measured: number) => ({
  ...{ id, title: id, columns: ['p50'], table: [[measured]], notes: [], data: [1, 2, 3] },
});
const run = (date: string, ...findings: ReturnType<typeof finding>[]) => ({
  ...{ date, args: [], seconds: 60, findings, failures: [] },
  machine: { processor: 'A processor', cores: 2, memoryGb: 8, kernel: 'Linux 6', versions: {} },
  before: { load: 0, stolenTicks: 0, allTicks: 0 },
  after: { load: 0, stolenTicks: 0, allTicks: 9 },
});
const shown = (runs: ReturnType<typeof withRun>) =>
  runs.map(({ date, findings }) => [date, ...findings.map(({ id, table }) => `${id} ${table[0]}`)]);

describe('a run that is published', () => {
  it('takes the place of its rows in earlier runs, and leaves the others', () => {
    const whole = withRun([], run('monday', finding('memory', 1), finding('idle', 2)));
    const both = withRun(whole, run('tuesday', finding('idle', 3)));
    expect(shown(both)).toEqual([
      ['tuesday', 'idle 3'],
      ['monday', 'memory 1'],
    ]);
    expect(shown(withRun(both, run('wednesday', finding('idle', 4))))).toEqual([
      ['wednesday', 'idle 4'],
      ['monday', 'memory 1'],
    ]);
  });

  it('is published without its single values', () => {
    const [published] = withRun([], run('monday', finding('memory', 1)));
    expect(published?.findings[0]?.data).toBeUndefined();
  });

  it('changes nothing if all of its rows have failed', () => {
    const before = withRun([], run('monday', finding('memory', 1)));
    expect(withRun(before, run('tuesday'))).toEqual(before);
  });
});
