import { describe, expect, it } from 'vitest';
import { isMet } from '../../harness/finding.mjs';
import { pivot } from '../../report/markdown.mjs';
import { repartitionOf } from './repartition.mjs';
import { barsOf, type Measured, report } from './report.mjs';

const idle = (shards: number, operations: number) => ({
  ...{ shards, leases: 10, operations, transactions: 318, mostBeats: 3.99 },
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
const missed = (measured: Partial<Measured>) =>
  barsOf({ ...GOOD, ...measured })
    .filter((bar) => !isMet(bar))
    .map(({ what, measured: value }) => [what, value]);

describe('the bars of the row of shards', () => {
  it('are met by a good measurement', () => {
    expect(missed({})).toEqual([]);
  });

  it('are about the middle of the times', () => {
    expect(missed({ movesMs: [2, 11, 12] })).toEqual([['a planned move: p50', 11]]);
  });

  it.each([
    [{ moved: 81, movedElsewhere: 0 }, 1],
    [{ moved: 79, movedElsewhere: 0 }, 1],
    [{ moved: 82, movedElsewhere: 2 }, 4],
  ])('are missed by a join that moves something else: %j', (moves, value) => {
    const joins = [...GOOD.joins, { tookMs: 250, eventsOfStayed: 0, ...moves }];
    expect(missed({ joins })).toEqual([[expect.stringContaining('80 of the newcomer'), value]]);
  });

  it('are missed by any event of a shard that stayed', () => {
    const joins = GOOD.joins.map((join) => ({ ...join, eventsOfStayed: 2 }));
    expect(missed({ joins })).toEqual([['events of shards that stayed, in all joins', 2]]);
  });

  it('are missed if a group with many shards asks more in idle, or less', () => {
    for (const more of [
      [1000, 1060],
      [1060, 1000],
    ]) {
      const [few = 0, many = 0] = more;
      expect(missed({ idle: [idle(64, few), idle(4096, many)] })).toEqual([
        ['idle: by how much the requests for 64 and 4096 shards differ', 6],
      ]);
    }
  });

  it('say how long two deaths at once may take: the session timeout', () => {
    const [bar] = barsOf(GOOD).filter(({ what }) => what.includes('next in line'));
    expect(bar).toMatchObject({ measured: 5900, bar: 6000 });
  });
});

describe('the table of the row of shards', () => {
  it('compares Conclave with kazoo in short', () => {
    const { columns, table, summary } = report({ ...GOOD, repartitions: [...GOOD.repartitions, KAZOO] });
    expect(summary).toBeDefined();
    const lines = pivot({ columns, table }, summary as NonNullable<typeof summary>).split('\n');
    expect(lines[0]).toBe('| what | unit | Conclave | kazoo SetPartitioner |');
    expect(lines).toContain('| 10 to 11 workers, 1000 pieces: another owner | pieces | 90 | 900 |');
    expect(lines.join('\n')).not.toContain('kill -9');
  });

  it('has no summary where kazoo is left out, so that all bars are shown', () => {
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
