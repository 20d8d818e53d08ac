import { describe, expect, it, onTestFinished } from 'vitest';
import { InvalidOptionError, InvalidStateError, ShardsMismatchError } from '../../../src/errors.js';
import { deferred } from '../../../src/platform/async/promises.js';
import { ShardObserver } from '../../../src/shards/observer/shard-observer.js';
import type { OwnedShard } from '../../../src/shards/ownership/owned-shard.js';
import { resizeGroup, untilGivenBack } from '../../../src/shards/read-and-resize-group.js';
import { GroupPaths } from '../../../src/shards/stored/group-paths.js';
import { ShardList } from '../../../src/shards/stored/shard-list.js';
import {
  A_WHILE_MS,
  DELAY_MS,
  GROUP,
  PATHS,
  startGroup,
  TIMES,
} from '../../support/conclave/group-members.js';

async function setUp(shards: number | string[], run?: (shard: OwnedShard) => unknown) {
  const group = await startGroup({ shards });
  const { clock, join, open, server, ownersOf } = group;
  const members = [await join('a', { run }), await join('b', { run })] as const;
  await clock.advance(A_WHILE_MS);
  const operator = await open(TIMES);
  const resize = async (next: number | string[]) => {
    const resized = await clock.advanceUntil(resizeGroup(operator, PATHS, next));
    await clock.advance(A_WHILE_MS);
    return resized;
  };
  /** What was told to the members since the last call. */
  const news = () => members.map(({ told }) => told.splice(0));
  const owners = (ids: readonly string[]) => ids.map((id) => ownersOf(id).join());
  const records = () => server.paths(PATHS.records).length - 1;
  news();
  return { ...group, members, operator, resize, news, owners, records };
}

/** A group of eight shards. The work of shard 7 ends when the test says so. */
async function setUpWork() {
  const work = deferred();
  return { work, ...(await setUp(8, ({ id }) => (id === '7' ? work.promise : undefined))) };
}

describe('a group that gets more shards', () => {
  it('shares them out, and those that it has hear of nothing', async () => {
    const { resize, news, idsOf, members, records } = await setUp(4);
    const before = members.map(idsOf);
    const { list } = await resize(8);
    expect([list.count, records()]).toEqual([8, 8]);
    expect(members.map(({ member }) => member.list.count)).toEqual([8, 8]);
    expect(news().flat().sort()).toEqual(['acquired 4', 'acquired 5', 'acquired 6', 'acquired 7']);
    expect(members.map((each) => idsOf(each).length)).toEqual([4, 4]);
    for (const [at, each] of members.entries())
      expect(idsOf(each)).toEqual(expect.arrayContaining(before[at] ?? []));
  });

  it('does so also with another planner, and over a restart of the members', async () => {
    const { join, joinAndWait, leave, resize, members, idsOf, owners } = await setUp(4);
    await resize(8);
    await leave(members[0]);
    expect(idsOf(members[1])).toHaveLength(8);
    await join('c', { shards: ShardList.of(8) });
    await joinAndWait('d', { shards: undefined });
    expect(new Set(owners(ShardList.of(8).ids))).toEqual(new Set(['b', 'c', 'd']));
  });
});

describe('a group that gets fewer shards', () => {
  it('has those that go given back, in good order, and keeps their records', async () => {
    const { clock, work, operator, resize, news, idsOf, members, records } = await setUpWork();
    await resize(4);
    expect(members.map((each) => idsOf(each).length)).toEqual([2, 2]);
    const told = news().flat();
    expect(told.filter((each) => /moved [456]/.test(each))).toHaveLength(3);
    expect(told).not.toContain('moved 7');
    work.resolve();
    await clock.advance(10);
    expect(news().flat()).toEqual(['moved 7']);
    expect(records()).toBe(8);
    const { data } = await clock.advanceUntil(operator.getData(PATHS.recordOf('7')));
    expect(JSON.parse(String(data))).toMatchObject({ state: 'vacant', term: 1 });
  });

  it('goes on with their terms when it gets them again', async () => {
    const { resize, acquired, owners } = await setUp(8);
    await resize(4);
    await resize(8);
    expect(owners(ShardList.of(8).ids).every((owner) => owner === 'a' || owner === 'b')).toBe(true);
    const terms = acquired.filter(({ shard }) => shard.id === '7').map(({ shard }) => shard.number);
    expect(terms).toEqual([1, 2]);
  });

  it('has no shard with two owners while members hear of it at different times', async () => {
    const { clock, server, resize, ownersOf, members } = await setUp(8);
    server.delay(500, { only: 'getData', path: GROUP, times: 1 });
    await resize(4);
    await resize(12);
    for (const id of ShardList.of(12).ids) expect(ownersOf(id)).toHaveLength(1);
    await clock.advance(10_000);
    expect(members.map(({ errors }) => errors)).toEqual([[], []]);
  });
});

describe('the wait for removed shards', () => {
  /** A wait that begins now. `isOver` says whether it has ended. */
  function begin({ operator }: Pick<Awaited<ReturnType<typeof setUp>>, 'operator'>) {
    let isOver = false;
    void untilGivenBack(operator, PATHS, new AbortController().signal).then(() => {
      isOver = true;
    });
    return { isOver: () => isOver };
  }

  it('lasts until the work of all of them has settled, also of those of an earlier change', async () => {
    const group = await setUpWork();
    await group.resize(6);
    await group.resize(4);
    const wait = begin(group);
    await group.clock.advance(10_000);
    expect(wait.isOver()).toBe(false);
    group.work.resolve();
    await group.clock.advance(A_WHILE_MS);
    expect(wait.isOver()).toBe(true);
  });

  it('ends for a shard that the group gets again meanwhile', async () => {
    const group = await setUpWork();
    await group.resize(4);
    const wait = begin(group);
    await group.resize(8);
    expect(wait.isOver()).toBe(true);
    group.work.resolve();
  });

  it('ends a takeover delay after it has seen that their owner is gone, which gives nothing back', async () => {
    const group = await setUpWork();
    const { clock, work, members, ownersOf, resize } = group;
    const owner = members.find(({ id }) => ownersOf('7').includes(id));
    await resize(4);
    owner?.silence();
    owner?.expire();
    await clock.advance(0);
    const wait = begin(group);
    await clock.advance(DELAY_MS - 100);
    expect(wait.isOver()).toBe(false);
    await clock.advance(300);
    expect(wait.isOver()).toBe(true);
    work.resolve();
  });

  it('passes over nodes that other clients have made beside the records', async () => {
    const group = await setUp(2);
    for (const name of ['%', '%ud83d', 'a b'])
      await group.clock.advanceUntil(group.operator.create(`${PATHS.records}/${name}`));
    const wait = begin(group);
    await group.clock.advance(0);
    expect(wait.isOver()).toBe(true);
  });
});

describe('a group with names', () => {
  it('keeps owners of shards whose numbers change', async () => {
    const { resize, news, owners } = await setUp(['eu', 'us', 'asia', 'africa']);
    const before = owners(['us', 'africa']);
    await resize(['new', 'africa', 'us', 'also new']);
    expect(owners(['us', 'africa'])).toEqual(before);
    expect(
      news()
        .flat()
        .filter((each) => /us|africa/.test(each)),
    ).toEqual([]);
    expect(owners(['new', 'also new']).sort()).toEqual(['a', 'b']);
    expect(owners(['eu', 'asia'])).toEqual(['', '']);
  });

  it('goes by what members have refused also with other numbers', async () => {
    const { report, leave, resize, members, ownersOf } = await setUp(['eu', 'us', 'asia', 'africa']);
    await report(members[0], { refused: ['us'] });
    expect(ownersOf('us')).toEqual(['b']);
    await resize(['us', 'eu']);
    expect([ownersOf('us'), ownersOf('eu')]).toEqual([['b'], ['a']]);
    await leave(members[1]);
    expect(ownersOf('us')).toEqual([]);
  });
});

it('a member that is started with the shards that its group had before is accepted with a warning, and follows the group’s', async () => {
  const { join, joinAndWait, resize, idsOf, warnings } = await setUp(4);
  const ofMembers = () => warnings.filter((each) => each.startsWith('a member'));
  await resize(8);
  await resize(12);
  const late = await joinAndWait('c', { shards: ShardList.of(8) });
  expect(idsOf(late)).toHaveLength(4);
  expect(ofMembers()).toEqual([
    'a member was started with the shards that its group had before: its option is out of date',
  ]);
  await expect(join('d', { shards: ShardList.of(9) })).rejects.toThrow(ShardsMismatchError);
  expect(ofMembers()).toHaveLength(1);
});

describe('a member that is started without shards', () => {
  it('is refused where there is no group, and makes none', async () => {
    const { server, join } = await startGroup();
    await expect(join('a', { shards: undefined })).rejects.toThrow(InvalidStateError);
    await expect(join('a', { shards: undefined })).rejects.toThrow(`${GROUP} is not a group of shards`);
    expect(server.paths(GROUP)).toEqual([]);
  });
});

describe('the change of a group’s shards', () => {
  it('is refused for numbers in the place of names, for no shards, and without a group', async () => {
    const { clock, operator, resize } = await setUp(4);
    await expect(resize(['a', 'b'])).rejects.toThrow(InvalidOptionError);
    await expect(resize(0)).rejects.toThrow(InvalidOptionError);
    const nowhere = resizeGroup(operator, new GroupPaths('/nowhere'), 4);
    await expect(clock.advanceUntil(nowhere)).rejects.toThrow(InvalidStateError);
  });

  it('makes no record anew that another client has deleted', async () => {
    const { clock, operator, members, resize, records } = await setUp(4);
    for (const { member } of members) await clock.advanceUntil(member.leave());
    await clock.advanceUntil(operator.remove(PATHS.recordOf('2')));
    await resize(8);
    expect(records()).toBe(7);
  });

  it('is made once where two want the same, and lasts where its reply is lost', async () => {
    const { clock, server, open, operator, owners } = await setUp(4);
    const other = await open(TIMES);
    const lost = server.swallowReply('setData', { path: GROUP });
    const resized = Promise.all([operator, other].map((session) => resizeGroup(session, PATHS, 6)));
    const [one, two] = await clock.advanceUntil(resized);
    await clock.advance(A_WHILE_MS);
    expect(lost.hits).toBe(1);
    expect(one?.version).toBe(two?.version);
    expect(owners(ShardList.of(6).ids)).not.toContain('');
    expect(await clock.advanceUntil(resizeGroup(operator, PATHS, 6))).toEqual(one);
  });
});

it('an observer of a group whose names change shows in the end who owns what, also where a name has another number than before', async () => {
  const { clock, open, resize, members, idsOf } = await setUp(['b', 'c', 'd', 'e']);
  const observer = new ShardObserver(await open(TIMES), GROUP);
  onTestFinished(() => clock.advanceUntil(observer.stop()));
  await clock.advanceUntil(observer.start());
  await resize(['e', 'd', 'c', 'b']);
  for (const each of members)
    for (const shard of idsOf(each))
      expect([shard, observer.ownerOfShard(shard)?.id]).toEqual([shard, each.id]);
  expect(observer.owners.size).toBe(4);
});
