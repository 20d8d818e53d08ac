import { describe, expect, it } from 'vitest';
import { pivot } from '../../report/markdown.mjs';
import { repartitionOf } from './repartition.mjs';
import { type Measured, report } from './report.mjs';

const idle = (shards: number, operations: number) => ({
  ...{ shards, leases: 10, operations },
  kinds: { multi: 318, exists: operations - 318 },
});
const GOOD: Measured = {
  cold: {
    one: [1200, 1400, 1600].map((ownedMs) => ({ ownedMs, sinceStartMs: ownedMs + 500 })),
    three: [{ ownedMs: 2000, sinceStartMs: 3000 }],
  },
  joins: [{ tookMs: 250, moved: 80, movedElsewhere: 0, eventsOfStayed: 0 }],
  movesMs: [2, 4, 40],
  idle: [idle(64, 1000), idle(4096, 1040)],
  writes: [{ moved: 90, recordWrites: 180, transactions: 27, operations: 1300 }],
  repartitions: [{ who: 'Conclave', moved: 90, interrupted: 90, gapsMs: [5, 7], spanMs: 30 }],
  killed: [
    { victim: 'worker', isGuarded: true, tookMs: [80, 90] },
    { victim: 'planner', isGuarded: false, tookMs: [2600] },
    { victim: 'both', isGuarded: false, tookMs: [5900] },
  ],
  firstPlans: { plansMs: [40, 45, 90], mapsMs: [39, 40, 41] },
  plans: [{ what: 'one member joins', tookMs: [20, 30, 90] }],
  timeBoundaryS: 30,
};
const KAZOO = { who: 'kazoo SetPartitioner', moved: 900, interrupted: 1000, gapsMs: [9000], spanMs: 32_000 };
describe('the table of the row of shards', () => {
  it('compares Conclave with kazoo in short', () => {
    const { columns, table, summary } = report({ ...GOOD, repartitions: [...GOOD.repartitions, KAZOO] });
    expect(summary).toBeDefined();
    const lines = pivot({ columns, table }, summary as NonNullable<typeof summary>).split('\n');
    expect(lines[0]).toBe('| what | unit | Conclave | kazoo SetPartitioner |');
    expect(lines).toContain('| 10 to 11 workers, 1000 pieces: another owner | pieces | 90 | 900 |');
    expect(lines.join('\n')).not.toContain('kill -9');
  });

  it('has no summary where kazoo is left out, so that all values are shown', () => {
    expect(report(GOOD)).not.toHaveProperty('summary');
  });

  it('has no value that is no number', () => {
    for (const cells of report(GOOD).table)
      for (const cell of cells.filter((each) => typeof each === 'number')) expect(cell).not.toBeNaN();
  });
});

it('a repartition has the pieces with another owner, and the times of these only', () => {
  const at = (atMs: number, member: number, shard: string, kind: 'ended' | 'acquired') => ({
    ...{ atMs, member, shard, kind },
  });
  const events = [at(0, 0, 'a', 'ended'), at(1, 0, 'b', 'ended'), at(7, 0, 'a', 'acquired')];
  expect(repartitionOf('kazoo', [...events, at(9, 1, 'b', 'acquired')])).toEqual({
    ...{ who: 'kazoo', moved: 1, interrupted: 2, gapsMs: [8], spanMs: 9 },
  });
});
