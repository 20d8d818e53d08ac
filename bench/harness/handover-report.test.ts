import { describe, expect, it } from 'vitest';
import { notesOf, rowsOf } from './handover-report.mjs';

describe('the report of handovers', () => {
  const series = (name: string, us: number) => ({
    name,
    ...{ rounds: [[us, us, us]], requests: [3], notifications: [1] },
  });
  const among = (setting: { isAway?: boolean; sessions?: number }) => ({
    setting: { servers: 1 as const, crowd: 15, pace: 'at once' as const, ...setting },
    series: [series('ours', 300), series('ready-made packets', 150)],
    failures: [] as { name: string; round: number; reason: string }[],
    notes: [] as string[],
  });

  it('names the sessions beside, and servers that are away', () => {
    const rows = rowsOf([among({}), among({ sessions: 1000 }), among({ isAway: true })]);
    expect(rows.filter(([, , , who]) => who === 'ours').map((cells) => cells.slice(0, 2))).toEqual([
      [1, 15],
      [1, '15, beside 985 sessions'],
      ['1, 1 ms away', 15],
    ]);
  });

  it('says how far away servers are, compares lower bounds, and reports rounds that failed', () => {
    const measured = among({ isAway: true });
    measured.notes.push('1 ms away: a read took 1.2 ms.');
    measured.failures.push({ name: 'rival', round: 2, reason: 'ConnectionLoss\nwith a trace' });
    expect(notesOf([measured], ['ours', 'rival'])).toEqual([
      '1 ms away: a read took 1.2 ms.',
      'one server, 1 ms away, 15 contenders, at once: ready-made packets take 0.5 times ours.',
      'rival broke down in round 2 at 15, at once, which is left out: ConnectionLoss',
    ]);
  });
});
