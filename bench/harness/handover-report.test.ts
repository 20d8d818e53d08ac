import { describe, expect, it } from 'vitest';
import { barsBeside, barsOfCrowds, notesOfFailures, rowsOf } from './handover-report.mjs';

describe('bars of handovers', () => {
  const series = (name: string, us: number, requests: number[]) => ({
    name,
    rounds: [[us, us, us]],
    requests,
    notifications: [1],
  });
  const among = (crowd: number, ...all: ReturnType<typeof series>[]) => ({
    setting: { servers: 1 as const, crowd, pace: 'at once' as const },
    series: all,
    failures: [] as { name: string; round: number; reason: string }[],
  });
  const comparison = {
    ours: 'ours',
    rival: 'rival',
    p50: ({ crowd }: { crowd: number }) => (crowd === 15 ? 0.8 : undefined),
  };

  it('compare with a rival, for numbers of contenders that have a bar', () => {
    const measured = among(15, series('ours', 300, [3]), series('rival', 400, [2]));
    expect(barsBeside(measured, { ...comparison, p99: 1 })).toEqual([
      { what: 'p50 at 15, times rival, at once', measured: 0.75, bar: 0.8 },
      { what: 'p99 at 15, times rival, at once', measured: 0.75, bar: 1 },
    ]);
    expect(barsBeside(measured, comparison)).toHaveLength(1);
    expect(barsBeside({ ...measured, setting: { ...measured.setting, crowd: 16 } }, comparison)).toEqual([]);
    expect(barsBeside(among(15, series('ours', 300, [3])), comparison)).toEqual([]);
  });

  it('see requests that grow with the contenders in every queue, but not pings in a single queue', () => {
    const requests = (...perLine: number[]) =>
      barsOfCrowds(
        [among(15, series('ours', 300, [3, 3, 3])), among(100, series('ours', 300, perLine))],
        'ours',
        1,
      ).find(({ what }) => what.startsWith('requests'))?.measured;
    expect(requests(3, 4.8, 3)).toBe(0);
    expect(requests(4, 4.2, 4)).toBe(1);
  });

  it('compare a thousand with few on the same servers, if they were measured', () => {
    const [few, many] = [among(15, series('ours', 500, [3])), among(1000, series('ours', 600, [3]))];
    const beside = { ...among(15, series('ours', 300, [3])), setting: { ...few.setting, sessions: 1000 } };
    const growth = (measured: Parameters<typeof barsOfCrowds>[0]) =>
      barsOfCrowds(measured, 'ours', 1).find(({ what }) => what.startsWith('p50 at 1000'))?.measured;
    expect(growth([few, many])).toBe(1.2);
    expect(growth([few, many, beside])).toBe(2);
    expect(rowsOf([beside]).map(([, contenders]) => contenders)).toEqual(['15, beside 985 sessions']);
  });

  it('report rounds that failed, and count those of Conclave', () => {
    const failure = (name: string) => ({ name, round: 2, reason: 'ConnectionLoss\nwith a trace' });
    const measured = among(1000, series('ours', 300, [3]));
    measured.failures.push(failure('rival'), failure('ours'));
    expect(notesOfFailures([measured])).toEqual([
      'rival broke down in round 2 at 1000, at once, which is left out: ConnectionLoss',
      'ours broke down in round 2 at 1000, at once, which is left out: ConnectionLoss',
    ]);
    const bar = barsOfCrowds([measured], 'ours', 1).find(({ what }) => what.includes('broke down'));
    expect(bar).toEqual({ what: 'rounds of ours that broke down', measured: 1, bar: 0 });
  });
});
