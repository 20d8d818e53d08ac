import { describe, expect, it } from 'vitest';
import { ShardEndedError } from '../../../src/errors.js';
import { takeoverDelayMs } from '../../../src/lease/failure-detector.js';
import type { OwnedShard } from '../../../src/shards/ownership/owned-shard.js';
import { SETTLE_MS } from '../../../src/shards/planner/planner.js';
import { A_WHILE_MS, GROUP, REPLACED_MS, startGroup, TIMES } from '../../support/conclave/group-members.js';

describe('a member of a group of shards', () => {
  it('owns all shards while it is alone, each in a first term with a token', async () => {
    const { clock, joinAndWait, idsOf, acquired } = await startGroup();
    const alone = await joinAndWait('a');
    expect(idsOf(alone)).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
    expect(acquired.every(({ shard }) => shard.number === 1 && shard.isHeld() && shard.token > 0n)).toBe(
      true,
    );
    await clock.advance(60_000);
    expect(acquired.every(({ shard }) => shard.isHeld())).toBe(true);
    expect(alone.told).toHaveLength(8);
  });

  it('shares them with one that joins, and hears nothing of those that it keeps', async () => {
    const { joinAndWait, idsOf, acquired, expectAllOwnedOnce } = await startGroup();
    const first = await joinAndWait('a');
    const before = first.told.length;
    const second = await joinAndWait('b');
    expect([idsOf(first).length, idsOf(second).length]).toEqual([4, 4]);
    expectAllOwnedOnce();
    expect(first.told.slice(before).sort()).toEqual(idsOf(second).map((id) => `moved ${id}`));
    const moved = acquired.filter(({ id }) => id === 'b').map(({ shard }) => shard);
    const former = (id: string) => acquired.find((each) => each.shard.id === id)?.shard as OwnedShard;
    expect(moved.every((shard) => shard.number === 2 && shard.token > former(shard.id).token)).toBe(true);
    const [reason] = moved.map(({ id }) => former(id).signal.reason as ShardEndedError);
    expect(reason).toBeInstanceOf(ShardEndedError);
    expect(reason?.reason).toBe('moved');
  });

  it('leaves its shards to the others at once when it leaves, also if it is the planner, and nothing else', async () => {
    const { clock, server, joinAll, idsOf, expectAllOwnedOnce } = await startGroup();
    const [first, second, third] = await joinAll('a', 'b', 'c');
    const kept = [...idsOf(first), ...idsOf(third)];
    await clock.advanceUntil(second.member.leave());
    await clock.advance(50);
    expectAllOwnedOnce();
    expect(idsOf(second)).toEqual([]);
    expect([...idsOf(first), ...idsOf(third)].filter((id) => kept.includes(id)).sort()).toEqual(kept.sort());
    await clock.advance(60_000);
    expect(server.paths(`${GROUP}/tombstones`)).toHaveLength(1);
    expect(server.paths(`${GROUP}/plans`)).toHaveLength(3);
    expect(first.member.isPlanner).toBe(true);
    await clock.advanceUntil(first.member.leave());
    await clock.advance(SETTLE_MS + 50);
    expectAllOwnedOnce();
  });

  it.each([
    ['a', 'outlives its lease'],
    ['b', 'outlives its lease'],
    ['c', 'outlives its lease'],
    ['b', 'ends'],
  ])(
    'that falls silent is replaced a delay later, and acts no more by then: %s, whose session %s',
    async (silent, session) => {
      const { clock, server, joinAll, ownersOf, list } = await startGroup();
      const members = await joinAll('a', 'b', 'c');
      const dead = members.find(({ id }) => id === silent);
      dead?.silence();
      if (session === 'ends') dead?.expire();
      for (let waited = 0; waited < REPLACED_MS; waited += 10) {
        for (const id of list.ids) expect(ownersOf(id).length).toBeLessThanOrEqual(1);
        await clock.advance(10);
      }
      const owners = list.ids.flatMap(ownersOf);
      expect(owners).toHaveLength(8);
      expect(owners).not.toContain(silent);
      expect(server.paths(`${GROUP}/tombstones`).length).toBeLessThanOrEqual(2);
    },
  );

  it('has its shards replaced before its session ends, also if it was the planner and the next in line failed with it', async () => {
    const { clock, join, joinAll, idsOf } = await startGroup();
    const [planner, next] = [await join('a'), await join('b')];
    const others = await joinAll('c', 'd');
    planner.silence();
    next.silence();
    // The third takes over the planning two delays after the last heartbeats, and has seen both members fall silent.
    const replacedMs = REPLACED_MS + takeoverDelayMs(TIMES.leaseMs) + A_WHILE_MS;
    expect(replacedMs).toBeLessThan(TIMES.sessionTimeoutMs);
    await clock.advance(replacedMs);
    expect(others.map((member) => idsOf(member).length)).toEqual([4, 4]);
  });

  it('has its shards replaced before its session ends also if two had failed with the planner before', async () => {
    const { clock, join, idsOf } = await startGroup();
    const members = [];
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) members.push(await join(id));
    const [first, second, third, fourth, ...others] = members;
    await clock.advance(A_WHILE_MS);
    for (const member of [first, second]) member?.expire();
    await clock.advance(2 * TIMES.sessionTimeoutMs);
    for (const member of [third, fourth]) member?.silence();
    await clock.advance(REPLACED_MS + takeoverDelayMs(TIMES.leaseMs) + A_WHILE_MS);
    expect(others.map((member) => idsOf(member).length)).toEqual([4, 4]);
  });

  it('is refused a guarded write of a shard that it has given back, though its node is there', async () => {
    const { clock, joinAndWait, acquired, idsOf } = await startGroup({ shards: 2 });
    const first = await joinAndWait('a');
    await clock.advanceUntil(first.session.create('/out', { data: Buffer.from('0') }));
    const second = await joinAndWait('b');
    const [moved] = idsOf(second);
    const former = acquired.find(({ id, shard }) => id === 'a' && shard.id === moved)?.shard as OwnedShard;
    // What its node alone proves: nothing.
    const byNode = first.session.commit([
      { kind: 'check', path: former.claim.node },
      { kind: 'set', path: '/out', data: Buffer.from('1') },
    ]);
    await clock.advanceUntil(byNode);
    const guarded = former.transaction().setData('/out', 'from the former owner').commit();
    await expect(clock.advanceUntil(guarded)).rejects.toThrow(ShardEndedError);
    const owner = acquired.find(({ id, shard }) => id === 'b' && shard.id === moved)?.shard as OwnedShard;
    await clock.advanceUntil(owner.transaction().setData('/out', 'from the owner').commit());
    const { data } = await clock.advanceUntil(first.session.getData('/out'));
    expect(String(data)).toBe('from the owner');
  });

  it('may write under its fence while its work settles', async () => {
    const { clock, joinAndWait, acquired } = await startGroup({ shards: 1 });
    let wrote: Promise<void> | undefined;
    const run = async (shard: OwnedShard) => {
      await new Promise((resolve) => shard.signal.addEventListener('abort', resolve));
      wrote = shard.transaction().create('/last', 'words').commit();
      await wrote;
    };
    const first = await joinAndWait('a', { run });
    expect(acquired).toHaveLength(1);
    await clock.advanceUntil(first.member.leave());
    await expect(wrote).resolves.toBeUndefined();
  });

  it('of whose id there is an older one gets no shards, until that has left', async () => {
    const { joinAll, leave, idsOf } = await startGroup();
    const [older, newer] = await joinAll('a', 'a');
    expect([idsOf(older).length, idsOf(newer).length]).toEqual([8, 0]);
    await leave(older);
    expect(idsOf(newer)).toHaveLength(8);
  });

  it('reports once that the record of a shard is missing, and owns the others', async () => {
    const { clock, join, joinAndWait, idsOf } = await startGroup();
    const first = await joinAndWait('a');
    await clock.advanceUntil(first.member.leave());
    await clock.advanceUntil(first.session.remove(`${GROUP}/shards/3`));
    const second = await join('b');
    await clock.advance(10_000);
    expect(idsOf(second)).toEqual(['0', '1', '2', '4', '5', '6', '7']);
    expect(second.member.lacking).toEqual(['3']);
    expect(second.errors.splice(0).map(String)).toEqual([
      `Error: ${GROUP}/shards/3, the record of shard 3, is missing, or can't be read: no member can claim the shard. "conclave shards status" says what to do`,
    ]);
  });

  it('owns a shard over the next connection though the servers have taken back the burial of its owner', async () => {
    const { clock, server, open, joinAll, idsOf, ownersOf } = await startGroup({ shards: 6 });
    const [planner, other, gone] = await joinAll('a', 'b', 'c');
    const shard = idsOf(gone)[0] as string;
    const record = `${GROUP}/shards/${shard}`;
    const former = server.data(record) as Buffer;
    gone.expire();
    await clock.advance(REPLACED_MS);
    const refuse = async (shards: string[]) => {
      for (const { member } of [planner, other]) member.refuse(shards);
      await clock.advance(A_WHILE_MS);
    };
    await refuse([shard]);
    await refuse([]); // Now the planner has read that no record names a member that is gone, and has removed the tombstone.
    expect([ownersOf(shard).length, server.paths(`${GROUP}/tombstones`)]).toEqual([
      1,
      [`${GROUP}/tombstones`],
    ]);
    await refuse([shard]);
    const operator = await open(TIMES);
    await clock.advanceUntil(operator.setData(record, former));
    await refuse([]);
    await clock.advance(60_000);
    expect(ownersOf(shard)).toEqual([]); // Nothing tells the planner.
    server.dropConnections();
    await clock.advance(REPLACED_MS);
    expect(ownersOf(shard)).toHaveLength(1);
  });

  it('reads its plan anew after each loss of its connection, and keeps its shards', async () => {
    const { clock, server, joinAndWait, joinAll, idsOf, expectAllOwnedOnce } = await startGroup();
    const [first, second] = await joinAll('a', 'b');
    const told = [...first.told, ...second.told];
    server.dropConnections();
    await clock.advance(A_WHILE_MS);
    expect([...first.told, ...second.told]).toEqual(told);
    await joinAndWait('c');
    expect([idsOf(first).length, idsOf(second).length]).toEqual([3, 3]);
    expectAllOwnedOnce();
  });
});
