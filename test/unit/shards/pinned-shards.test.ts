import { describe, expect, it } from 'vitest';
import { InvalidOptionError, InvalidStateError } from '../../../src/errors.js';
import type { OwnedShard } from '../../../src/shards/ownership/owned-shard.js';
import { changePins, moveShard } from '../../../src/shards/pinned-shards.js';
import { parsePins } from '../../../src/shards/stored/data-formats.js';
import { GroupPaths } from '../../../src/shards/stored/group-paths.js';
import { A_WHILE_MS, PATHS, startGroup, TIMES } from '../../support/conclave/group-members.js';
import { deferred } from '../../support/waiting.mjs';

async function setUp() {
  const group = await startGroup();
  const { clock, joinAll, open } = group;
  const members = await joinAll('a', 'b', 'c');
  const operator = await open(TIMES);
  const pin = (shard: string, member: string) =>
    clock.advanceUntil(changePins(operator, PATHS, (pins) => pins.set(shard, member)));
  const unpin = (shard: string) =>
    clock.advanceUntil(
      changePins(operator, PATHS, (pins) => {
        pins.delete(shard);
        return pins;
      }),
    );
  const readPins = async () => parsePins((await clock.advanceUntil(operator.getData(PATHS.pins))).data);
  return { ...group, members, operator, pin, unpin, readPins };
}

describe('a pin', () => {
  it('moves its shard at once, and one for it if the member has its part, and nothing else', async () => {
    const { clock, members, pin, ownersOf, expectAllOwnedOnce } = await setUp();
    const told = members.map((each) => each.told.length);
    const [shard] = members[0].member.owned.map(({ id }) => id) as [string];
    expect(await pin(shard, 'b')).toEqual(new Map([[shard, 'b']]));
    await clock.advance(A_WHILE_MS);
    expect(ownersOf(shard)).toEqual(['b']);
    expectAllOwnedOnce();
    const since = members.flatMap((each, at) => each.told.slice(told[at]));
    expect(since.length).toBeLessThanOrEqual(4);
  });

  it('holds until it is taken back, over the end of the planner and of the member', async () => {
    const { clock, joinAndWait, leave, members, pin, unpin, ownersOf } = await setUp();
    const [planner, second] = members;
    await pin('0', 'b');
    await clock.advance(A_WHILE_MS);
    await leave(planner);
    expect(ownersOf('0')).toEqual(['b']);
    await leave(second);
    expect(ownersOf('0')).toEqual(['c']);
    const again = await joinAndWait('b');
    expect(ownersOf('0')).toEqual(['b']);
    expect(await unpin('0')).toEqual(new Map());
    await clock.advance(A_WHILE_MS);
    expect(again.told.filter((each) => each.startsWith('moved'))).toEqual([]);
  });

  it('is heard of also after its node was deleted', async () => {
    const { clock, operator, pin, ownersOf } = await setUp();
    await clock.advanceUntil(operator.remove(PATHS.pins));
    await clock.advance(10);
    await pin('7', 'a');
    await clock.advance(TIMES.leaseMs + A_WHILE_MS);
    expect(ownersOf('7')).toEqual(['a']);
    await pin('7', 'b');
    await clock.advance(A_WHILE_MS);
    expect(ownersOf('7')).toEqual(['b']);
  });
});

describe('the pins of a group', () => {
  it('lose none of two changes at one time, nor a change whose reply is lost', async () => {
    const { clock, server, open, operator, readPins } = await setUp();
    const other = await open(TIMES);
    server.swallowReply('setData', { path: PATHS.pins, times: 1 });
    const changes = [operator, other].map((session, at) =>
      changePins(session, PATHS, (pins) => pins.set(String(at), 'a')),
    );
    await clock.advanceUntil(Promise.all(changes));
    const pins = await readPins();
    expect([...(pins?.keys() ?? [])].sort()).toEqual(['0', '1']);
  });

  it('aren’t written if they are as they are to be', async () => {
    const { clock, operator, pin } = await setUp();
    await pin('0', 'a');
    const { stat } = await clock.advanceUntil(operator.getData(PATHS.pins));
    await pin('0', 'a');
    expect((await clock.advanceUntil(operator.getData(PATHS.pins))).stat.version).toBe(stat.version);
  });

  it('are refused for a shard that the group hasn’t, for an empty id, and where there is no group', async () => {
    const { clock, operator, pin, readPins } = await setUp();
    await expect(pin('8', 'a')).rejects.toThrow(InvalidOptionError);
    await expect(pin('8', 'a')).rejects.toThrow(
      'shard is "8": expected a shard of the group, which has 8 shards',
    );
    await expect(pin('7', '')).rejects.toThrow(InvalidOptionError);
    expect(await readPins()).toEqual(new Map());
    const nowhere = () =>
      clock.advanceUntil(changePins(operator, new GroupPaths('/nowhere'), (pins) => pins.set('7', 'a')));
    await expect(nowhere()).rejects.toThrow(InvalidStateError);
    await expect(nowhere()).rejects.toThrow('/nowhere is not a group of shards');
  });

  it('aren’t overwritten where another client has written something else, which the planner reports', async () => {
    const { clock, members, operator, pin } = await setUp();
    await clock.advanceUntil(operator.setData(PATHS.pins, Buffer.from('{"pins":1}')));
    await expect(pin('7', 'a')).rejects.toThrow(InvalidStateError);
    await clock.advance(A_WHILE_MS);
    expect(members[0].errors.splice(0).map(String)).toEqual([
      `Error: ${PATHS.pins} holds no pins: another client has written it`,
    ]);
    await clock.advanceUntil(operator.setData(PATHS.pins, Buffer.alloc(0)));
    await pin('7', 'a');
  });
});

describe('a move', () => {
  const never = new AbortController().signal;
  /** A move to a member that doesn't take the shard, since its owner's work doesn't end. */
  async function startMove() {
    const group = await setUp();
    const { clock, members, open, server } = group;
    const [shard] = members[0].member.owned.map(({ id }) => id) as [string];
    const session = await open(TIMES);
    const ended = moveShard(session, PATHS, { shard, member: 'b' }, never).catch((error: unknown) => error);
    await clock.advanceUntil(() => server.paths(PATHS.pins).length > 1);
    return { ...group, shard, session, ended };
  }

  it('left its pins behind for ever when its process ended', async () => {
    const { clock, server, session, ended, readPins } = await startMove();
    await clock.advanceUntil(session.close());
    await clock.advanceUntil(ended);
    expect(server.paths(PATHS.pins)).toEqual([PATHS.pins]);
    expect(await readPins()).toEqual(new Map());
  });

  it('took an operator’s pin of the same shard with it', async () => {
    const { clock, shard, ended, pin, readPins, ownersOf } = await startMove();
    await pin(shard, 'b');
    expect(await clock.advanceUntil(ended)).toContain(shard);
    await clock.advance(A_WHILE_MS);
    expect(ownersOf(shard)).toEqual(['b']);
    expect(await readPins()).toEqual(new Map([[shard, 'b']]));
  });

  it('waited in vain for a shard to go the other way, to an owner that drains', async () => {
    const { clock, members, operator, report } = await setUp();
    const [, owner] = members;
    const work = deferred();
    const [shard] = owner.member.owned as [OwnedShard];
    shard.waitUntil(work.promise);
    await report(owner, { draining: true });
    const ended = moveShard(operator, PATHS, { shard: shard.id, member: 'a' }, never);
    await clock.advance(A_WHILE_MS);
    work.resolve();
    expect(await clock.advanceUntil(ended)).toEqual([shard.id]);
  });

  it('waited in vain for a shard to go the other way that its owner refuses', async () => {
    const { clock, members, operator, report, idsOf } = await setUp();
    const [to, from] = members;
    const [shard] = idsOf(from) as [string];
    const [refused, other] = idsOf(to) as [string, string];
    await report(from, { refused: [refused] });
    const ended = moveShard(operator, PATHS, { shard, member: 'a' }, never);
    expect(await clock.advanceUntil(ended)).toEqual([shard, other]);
  });

  it('ended when the reply to its listing of the members was lost', async () => {
    const { clock, members, operator, server, idsOf } = await setUp();
    const [shard] = idsOf(members[0]) as [string];
    server.swallowReply('getChildren', { path: PATHS.members, times: 1 });
    const ended = moveShard(operator, PATHS, { shard, member: 'b' }, never);
    expect(await clock.advanceUntil(ended)).toContain(shard);
  });
});
