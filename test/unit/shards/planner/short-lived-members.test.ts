import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ShortLivedMembers } from '../../../../src/shards/planner/short-lived-members.js';
import { startGroup, TIMES } from '../../../support/conclave/group-members.js';

const NONE = new Set<string>();
const members = (...nodes: string[]) => nodes.map((node) => ({ node, id: node[0] as string }));

describe('a member that ends soon after it got shards, and comes back at once', () => {
  it('gets none for a while, so that a healthy one has them (it kept half of them, without work), also under another id', async () => {
    const { clock, join, idsOf, list } = await startGroup();
    const healthy = await join('a');
    await clock.advance(1000);
    const failing = await join('b');
    while (idsOf(failing).length === 0) await clock.advance(10);
    failing.silence();
    await clock.advance(100);
    const again = await join('b');
    await clock.advance(3 * TIMES.leaseMs);
    const renamed = await join('c');
    await clock.advance(2000);
    expect([idsOf(healthy), idsOf(again), idsOf(renamed)]).toEqual([list.ids, [], []]);
    await clock.advance(20_000);
    for (const each of [again, renamed]) expect(idsOf(each).length).toBeGreaterThan(0);
  });

  it('is passed over for longer each time, and only if it has come since, ended uncleanly, and others are there', () => {
    const ends = new ShortLivedMembers();
    const pass = (nodes: string[], now: number, left = NONE) => [
      ...ends.passedOver(members(...nodes), left, now).nodes,
    ];
    expect(pass(['a1', 'b1'], 0)).toEqual([]);
    ends.gave(new Set(['a1', 'b1']), 0);
    expect(pass(['a1', 'b1', 'b2'], 100)).toEqual([]);
    expect(pass(['a1', 'b2'], 2000)).toEqual(['b2']);
    expect(pass(['a1', 'b2'], 12_000)).toEqual([]);
    ends.gave(new Set(['a1', 'b2']), 12_000);
    expect(pass(['a1', 'b3'], 14_000)).toEqual(['b3']);
    expect(pass(['a1', 'b3'], 33_999)).toEqual(['b3']);
    expect(pass(['a1', 'b3'], 34_000)).toEqual([]);
    ends.gave(new Set(['a1', 'b3']), 34_000);
    expect(pass(['a1', 'b4'], 35_000, new Set(['b']))).toEqual([]); // In good order.
    ends.gave(new Set(['a1', 'b4']), 35_000);
    expect(pass(['a1', 'b5'], 60_000)).toEqual([]); // After a while.
  });

  it('never leaves a group without a member that gets shards, nor takes shards from one that has them', () => {
    const step = fc.record({
      present: fc.uniqueArray(fc.constantFrom('a1', 'a1', 'b1', 'b2', 'c1')),
      serving: fc.uniqueArray(fc.constantFrom('a1', 'a1', 'b1', 'b2', 'c1')),
      afterMs: fc.nat(30_000),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const ends = new ShortLivedMembers();
        let now = 0;
        let serving = new Set<string>();
        for (const { present, afterMs, ...each } of steps) {
          now += afterMs;
          const { nodes, nextMs } = ends.passedOver(members(...present), NONE, now);
          if (present.length > 0) expect(nodes.size).toBeLessThan(present.length);
          for (const node of nodes) expect(serving.has(node)).toBe(false);
          if (nodes.size > 0) expect(nextMs).toBeLessThanOrEqual(60_000);
          serving = new Set(each.serving.filter((node) => present.includes(node)));
          ends.gave(serving, now);
        }
      }),
    );
  });
});
