import { describe, expect, it } from 'vitest';
import { parseOwned } from '../../../../src/shards/stored/data-formats.js';
import { GROUP, startGroup } from '../../../support/conclave/group-members.js';

/** A group, and what its members have published and written. */
async function setUp(options?: Parameters<typeof startGroup>[0]) {
  const group = await startGroup(options);
  const { server } = group;
  const nodes = () => server.paths(`${GROUP}/owned`).slice(1);
  /** The numbers of the shards in each publication. */
  const published = () => nodes().map((path) => parseOwned(server.data(path) as Buffer));
  /** What was written of records and publications, each as its kind and how many of either it writes. */
  const writes = () =>
    server.requests.flatMap(({ operation, paths }) => {
      const [records, publications] = ['shards', 'owned'].map(
        (parent) => paths.filter((path) => path.startsWith(`${GROUP}/${parent}/`)).length,
      ) as [number, number];
      const isWrite = ['multi', 'create', 'setData', 'delete'].includes(operation);
      return isWrite && records + publications > 0 ? [`${operation}: ${records}, ${publications}`] : [];
    });
  return { ...group, join: group.joinAndWait, nodes, published, writes };
}

describe('what a member publishes', () => {
  it('comes with its claims and releases: a shard that moves takes two writes, in transactions', async () => {
    const { server, join, leave, idsOf, published, writes } = await setUp();
    const first = await join('a');
    expect(published()).toEqual([[0, 1, 2, 3, 4, 5, 6, 7]]);
    server.resetCounts();
    const second = await join('b');
    expect(published()).toEqual([idsOf(first).map(Number), idsOf(second).map(Number)]);
    expect(writes()).toEqual(['multi: 4, 1', 'multi: 4, 1']);
    server.resetCounts();
    await leave(second);
    expect(published()).toEqual([[0, 1, 2, 3, 4, 5, 6, 7]]);
    expect(writes()).toEqual(['multi: 4, 1', 'delete: 0, 1', 'multi: 4, 1']);
  });

  it('grows with each transaction of many claims', async () => {
    const { clock, join, published, writes } = await setUp({ shards: 600 });
    const member = await join('a');
    expect(published()).toEqual([
      member.member.owned.map(({ index }) => index).sort((one, two) => one - two),
    ]);
    expect(published()[0]).toHaveLength(600);
    // The first ones make the records.
    expect(writes().slice(-3)).toEqual(['multi: 256, 1', 'multi: 256, 1', 'multi: 88, 1']);
    await clock.advanceUntil(member.member.leave());
    expect(published()).toEqual([]);
  });

  it('hinders no claim if it can’t be written: that is reported once', async () => {
    const { clock, server, open, join, list, idsOf, published } = await setUp();
    const session = await open();
    const readOnly = [{ scheme: 'world', id: 'anyone', permissions: 1 }];
    await session.create(GROUP);
    await session.create(`${GROUP}/owned`, { access: readOnly });
    const member = await join('a');
    expect(idsOf(member)).toEqual([...list.ids]);
    expect(published()).toEqual([]);
    expect(member.errors.splice(0)).toMatchObject([{ code: 'NO_AUTH' }]);
    await clock.advance(60_000);
    expect(idsOf(member)).toEqual([...list.ids]);
    expect(server.watchCount(`${GROUP}/owned`)).toBe(0);
  });

  it('stays without its member that has lost its node, and goes with its session', async () => {
    const { clock, server, join, idsOf, nodes, published } = await setUp({ shards: 2 });
    const [first, second] = [await join('a'), await join('b')];
    const lost = server.paths(`${GROUP}/members`).filter((path) => path.includes('-lock-'))[1] as string;
    await clock.advanceUntil(first.session.remove(lost));
    await clock.advance(10);
    expect(idsOf(second)).toEqual([]);
    expect(published()).toEqual([[0], [1]]);
    await clock.advanceUntil(second.session.close());
    expect(nodes()).toHaveLength(1);
  });

  it('is gone when its member has left, also if a connection is lost meanwhile', async () => {
    const { clock, server, join, nodes } = await setUp({ shards: 2 });
    const member = await join('a');
    const lostReply = server.swallowReply('multi', { path: new RegExp(`^${GROUP}/owned/`) });
    await clock.advanceUntil(member.member.leave());
    expect(lostReply.hits).toBe(1);
    expect(nodes()).toEqual([]);
    expect(server.sessions()).toHaveLength(1);
  });
});
