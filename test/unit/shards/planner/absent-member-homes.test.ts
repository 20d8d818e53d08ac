import { describe, expect, it } from 'vitest';
import {
  AbsentMemberHomes,
  hasServed,
  homesByShard,
  type SeenHome,
} from '../../../../src/shards/planner/absent-member-homes.js';
import { SETTLE_MS } from '../../../../src/shards/planner/planner.js';
import {
  A_WHILE_MS,
  type JoinedMember,
  PATHS,
  REPLACED_MS,
  startGroup,
  TIMES,
} from '../../../support/conclave/group-members.js';

const GRACE_MS = 20_000;
const MINUTE_MS = 60_000;
const AWAITED = { keepsHome: true, graceMs: GRACE_MS };

/** Members of those names, which share all shards by now. */
async function setUp(names: string, options: { keepsHome?: boolean; graceMs?: number }, shards = 8) {
  const group = await startGroup({ shards });
  const { clock, join, server } = group;
  const members = new Map<string, JoinedMember>();
  const start = async (id: string) => {
    const member = await join(id, options);
    members.set(id, member);
    return member;
  };
  for (const id of names) await start(id);
  await clock.advance(A_WHILE_MS);
  const get = (id: string) => members.get(id) as JoinedMember;
  const leave = async (id: string) => {
    await clock.advanceUntil(get(id).member.leave());
    members.delete(id);
  };
  /** How many shards were acquired by now, by all. */
  const moves = () => group.acquired.length;
  const homes = () => server.paths(PATHS.homes).slice(1);
  return { ...group, start, get, leave, moves, homes };
}

describe('a member that has left in good order', () => {
  it('has its shards unowned for its grace, and nothing else moves', async () => {
    const { clock, leave, start, get, idsOf, moves, ownersOf } = await setUp('abc', AWAITED);
    const owned = idsOf(get('b'));
    const before = moves();
    await leave('b');
    await clock.advance(GRACE_MS - 100);
    expect(moves()).toBe(before);
    expect(owned.map(ownersOf)).toEqual(owned.map(() => []));
    await start('b');
    await clock.advance(SETTLE_MS / 2);
    expect(idsOf(get('b'))).toEqual(owned);
    expect(moves() - before).toBe(owned.length);
  });

  it('is replaced when its grace is over, and gets its shards again for a minute yet', async () => {
    const { clock, leave, start, get, idsOf, expectAllOwnedOnce, homes } = await setUp('abc', AWAITED);
    const owned = idsOf(get('b'));
    await leave('b');
    await clock.advance(GRACE_MS + 100);
    expectAllOwnedOnce();
    expect(homes()).toHaveLength(1);
    await start('b');
    await clock.advance(A_WHILE_MS);
    expect(idsOf(get('b'))).toHaveLength(2);
    expect(owned).toEqual(expect.arrayContaining(idsOf(get('b'))));
  });

  it('has no home any more a minute later, or when its grace is over if that is longer', async () => {
    const { clock, leave, homes } = await setUp('abc', { keepsHome: true, graceMs: 2 * MINUTE_MS });
    await leave('b');
    await clock.advance(2 * MINUTE_MS - 100);
    expect(homes()).toHaveLength(1);
    await clock.advance(A_WHILE_MS);
    expect(homes()).toEqual([]);
    const other = await setUp('ab', { keepsHome: true });
    await other.leave('b');
    await other.clock.advance(MINUTE_MS - 100);
    expect(other.homes()).toHaveLength(1);
    await other.clock.advance(A_WHILE_MS);
    expect(other.homes()).toEqual([]);
  });

  it('has no home any more when it is back, and a crash after that leaves its shards to others at once', async () => {
    const { clock, leave, start, get, homes, list, ownersOf } = await setUp('abc', AWAITED);
    await leave('b');
    await start('b');
    await clock.advance(A_WHILE_MS);
    expect(homes()).toEqual([]);
    get('b').silence();
    await clock.advance(REPLACED_MS);
    expect(list.ids.flatMap(ownersOf)).toHaveLength(8);
  });

  it('is awaited by the next planner for the whole grace again', async () => {
    const { clock, leave, get, idsOf, ownersOf, expectAllOwnedOnce } = await setUp('abc', AWAITED);
    const owned = idsOf(get('b'));
    expect(get('a').member.isPlanner).toBe(true);
    await leave('b');
    await clock.advance(GRACE_MS - 1000);
    get('a').expire(); // Without a home of its own.
    await clock.advance(TIMES.leaseMs + GRACE_MS - 1000);
    expect(owned.map(ownersOf)).toEqual(owned.map(() => []));
    expect(idsOf(get('c'))).toHaveLength(8 - owned.length);
    await clock.advance(3000);
    expectAllOwnedOnce();
  });

  it('after it has drained is given what it owned before that, and nothing waits for it meanwhile', async () => {
    const { clock, leave, start, get, idsOf, moves, expectAllOwnedOnce } = await setUp('abcd', AWAITED);
    const owned = idsOf(get('b'));
    get('b').member.report({ draining: true });
    await clock.advance(A_WHILE_MS);
    expectAllOwnedOnce();
    const before = moves();
    await leave('b');
    await clock.advance(A_WHILE_MS);
    expect(moves()).toBe(before);
    await start('b');
    await clock.advance(SETTLE_MS / 2);
    expect(idsOf(get('b'))).toEqual(owned);
    expect(moves() - before).toBe(owned.length);
  });

  it('leaves a home in the place of an earlier one, also if the planner has just removed that', async () => {
    const { server, report, leave, start, get, homes, idsOf, dataOf } = await setUp('ab', {
      keepsHome: true,
    });
    const owned = idsOf(get('b'));
    await leave('b');
    const first = await dataOf(PATHS.homeOf('b'));
    expect(first).toMatchObject({ id: 'b', weight: 1, graceMs: 0, shards: expect.any(Array) });
    const back = await start('b');
    await report(back, { refused: owned.slice(1) });
    expect(homes()).toHaveLength(1); // It doesn't own all that it owned.
    await leave('b');
    expect(await dataOf(PATHS.homeOf('b'))).not.toEqual(first);
    expect(server.paths(PATHS.members).filter((path) => path.includes('-lock-'))).toHaveLength(1);
  });

  it('leaves no home unless it is to come back', async () => {
    const { leave, homes } = await setUp('ab', {});
    await leave('b');
    expect(homes()).toEqual([]);
  });

  it('leaves all the same if it may not write its home, and others hear of it at once', async () => {
    const { clock, leave, get, expectAllOwnedOnce, homes } = await setUp('ab', AWAITED);
    const { session } = get('a');
    await clock.advanceUntil(session.remove(PATHS.homes));
    const access = [{ scheme: 'world', id: 'anyone', permissions: 1 }] as const;
    await clock.advanceUntil(session.create(PATHS.homes, { access }));
    await leave('b');
    await clock.advance(50);
    expectAllOwnedOnce();
    expect(homes()).toEqual([]);
  });
});

describe('members that are restarted one by one', () => {
  it.each([
    [0, 2],
    [GRACE_MS, 1],
  ])('with a grace of %d ms move each shard %d times at most', async (graceMs, most) => {
    const names = 'abcdefgh';
    const { clock, leave, start, acquired, list, expectAllOwnedOnce } = await setUp(
      names,
      { keepsHome: true, graceMs },
      32,
    );
    const before = acquired.length;
    const owners = list.ids.map((shard) => acquired.findLast((each) => each.shard.id === shard)?.id);
    for (const id of names) {
      await leave(id);
      await clock.advance(3000);
      await start(id);
      await clock.advance(A_WHILE_MS);
    }
    expectAllOwnedOnce();
    const since = acquired.slice(before);
    for (const id of list.ids) expect(since.filter(({ shard }) => shard.id === id)).toHaveLength(most);
    expect(list.ids.map((shard) => acquired.findLast((each) => each.shard.id === shard)?.id)).toEqual(owners);
  });
});

const home = (id: string, change: Partial<SeenHome> = {}): SeenHome => ({
  ...{ id, member: `the uuid of ${id}`, weight: 1, graceMs: 0, shards: ['1'] },
  ...{ path: `/homes/${id}`, version: 0, mzxid: 1n },
  ...change,
});

describe('the time of a home', () => {
  const NOT_THERE: ReadonlySet<string> = new Set();

  it('begins when it is seen first, and anew when its member has left again', () => {
    const clocks = new AbsentMemberHomes();
    const first = home('a', { graceMs: 1000 });
    expect(clocks.update([first], NOT_THERE, 0)).toEqual({
      ...{ kept: [first], awaited: [first], over: [], nextMs: 1000 },
    });
    expect(clocks.update([first], NOT_THERE, 400).nextMs).toBe(600);
    expect(clocks.update([first], NOT_THERE, 1000)).toEqual({
      ...{ kept: [first], awaited: [], over: [], nextMs: MINUTE_MS - 1000 },
    });
    const again = { ...first, mzxid: 2n };
    expect(clocks.update([again], NOT_THERE, 2000).awaited).toEqual([again]);
    expect(clocks.update([again], NOT_THERE, 2000 + MINUTE_MS)).toEqual({
      ...{ kept: [], awaited: [], over: [again], nextMs: Number.POSITIVE_INFINITY },
    });
  });

  it('is no grace any more once its member was there', () => {
    const clocks = new AbsentMemberHomes();
    const left = home('a', { graceMs: 1000 });
    expect(clocks.update([left], new Set(['a']), 0).awaited).toEqual([]);
    expect(clocks.update([left], NOT_THERE, 10).awaited).toEqual([]);
    expect(clocks.update([{ ...left, mzxid: 2n }], NOT_THERE, 20).awaited).toHaveLength(1);
  });
});

describe('a home', () => {
  it('is the first one that had a shard', () => {
    const homes = [home('b', { mzxid: 2n, shards: ['1', '2'] }), home('a', { shards: ['1'] })];
    expect(homesByShard(homes)).toEqual(
      new Map([
        ['1', 'a'],
        ['2', 'b'],
      ]),
    );
  });

  it('has served when its member owns its shards, or is to own those that have no owner', () => {
    const [left, planned] = [home('a', { shards: ['1', '2'] }), new Map([['2', 'a']])];
    expect(hasServed(left, new Map([['1', 'n']]), planned, 'n')).toBe(true);
    expect(hasServed(left, new Map([['1', 'n']]), planned, undefined)).toBe(false);
    expect(hasServed(left, new Map([['1', 'another']]), planned, 'n')).toBe(false);
    expect(hasServed(left, new Map([['1', 'n']]), new Map([['2', 'b']]), 'n')).toBe(false);
  });
});
