import { describe, expect, it } from 'vitest';
import {
  InvalidOptionError,
  InvalidStateError,
  SessionExpiredError,
  ZooKeeperError,
} from '../../../../src/errors.js';
import { takeoverDelayMs } from '../../../../src/lease/failure-detector.js';
import { ShardObserver } from '../../../../src/shards/observer/shard-observer.js';
import type { OwnedShard } from '../../../../src/shards/ownership/owned-shard.js';
import { shardOf } from '../../../../src/shards/shard-of-key.js';
import { A_WHILE_MS, GROUP, startGroup, TIMES } from '../../../support/conclave/group-members.js';
import { oneAfterTheOther } from '../../../support/conclave/observers.js';
import { idsOf, observerOf, scriptedGroup } from '../../../support/conclave/shard-observers.js';
import { sessionAt, startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';
import { SILENT } from '../../../support/silent-logger.mjs';

/** A group with real members, and observers of it. */
async function setUp(options?: Parameters<typeof startGroup>[0]) {
  const group = await startGroup(options);
  const { clock, open } = group;
  const prepare = (source: ConstructorParameters<typeof ShardObserver>[0]) =>
    observerOf((promise) => clock.advanceUntil(promise), source, GROUP, { logger: SILENT });
  const observe = async (source?: ConstructorParameters<typeof ShardObserver>[0]) => {
    const prepared = prepare(source ?? (await open(TIMES)));
    await clock.advanceUntil(prepared.observer.start());
    return prepared;
  };
  return { ...group, prepare, observe };
}

/** A group without members, which is written as the test says, and an observer of it. */
async function setUpScript(shards: number | string[] = 4) {
  const { clock, server, open } = await startWithTestClock();
  const writer = await open(TIMES);
  const group = scriptedGroup(writer, GROUP);
  await clock.advanceUntil(group.make(shards));
  const session = await open(TIMES);
  const prepared = observerOf((promise) => clock.advanceUntil(promise), session, GROUP, { logger: SILENT });
  const start = () => clock.advanceUntil(prepared.observer.start());
  /** Carried out, and seen. */
  const carryOut = async <T>(written: Promise<T>) => {
    const value = await clock.advanceUntil(written);
    await clock.advance(10);
    return value;
  };
  return { clock, server, open, writer, group, session, start, carryOut, ...prepared };
}

describe('an observer of shards', () => {
  it('shows who owns what, with what each owner says of itself, and to whom a key belongs', async () => {
    const { clock, join, observe, ownersAmong } = await setUp();
    const members = [await join('a', { data: 'at a' }), await join('b', { data: 'at b' })];
    await clock.advance(A_WHILE_MS);
    const { observer, changes, errors } = await observe();
    expect(idsOf(observer.owners)).toEqual(ownersAmong(members));
    expect(observer.owners.size).toBe(8);
    expect(observer.members).toEqual([
      { id: 'a', weight: 1, data: 'at a' },
      { id: 'b', weight: 1, data: 'at b' },
    ]);
    for (const key of ['a', 'order-17', 'Zoë', Buffer.from('x')]) {
      const shard = String(shardOf(key, 8));
      expect(observer.ownerOf(key)).toBe(observer.owners.get(shard));
      expect(observer.ownerOf(key)).toBe(observer.ownerOfShard(shard));
      expect(observer.ownerOf(key)?.data).toBe(`at ${observer.owners.get(shard)?.id}`);
    }
    expect(changes).toEqual([ownersAmong(members)]);
    expect(errors).toEqual([]);
  });

  it('follows what moves as members come and go, and reports nothing that stays', async () => {
    const { clock, joinAndWait, leave, observe, ownersAmong } = await setUp();
    const first = await joinAndWait('a');
    const { observer, changes } = await observe();
    const second = await joinAndWait('b');
    expect(idsOf(observer.owners)).toEqual(ownersAmong([first, second]));
    const moved = Object.keys(ownersAmong([second]));
    expect(new Set(changes.slice(1).flatMap((change) => Object.keys(change)))).toEqual(new Set(moved));
    const before = changes.length;
    await leave(second);
    expect(idsOf(observer.owners)).toEqual(ownersAmong([first]));
    expect(observer.members.map(({ id }) => id)).toEqual(['a']);
    expect(new Set(changes.slice(before).flatMap((change) => Object.keys(change)))).toEqual(new Set(moved));
    await clock.advance(60_000);
    expect(idsOf(observer.owners)).toEqual(ownersAmong([first]));
  });

  it('shows a shard as its owner’s until the work for it has settled', async () => {
    const { clock, joinAndWait, observe } = await setUp({ shards: 2 });
    let settle: (() => void) | undefined;
    const run = ({ id, number }: OwnedShard) =>
      id === '1' && number === 1 ? new Promise<void>((resolve) => (settle = resolve)) : undefined;
    await joinAndWait('a', { run });
    const { observer } = await observe();
    await joinAndWait('b');
    expect(idsOf(observer.owners)).toEqual({ 0: 'a', 1: 'a' });
    settle?.();
    await clock.advance(10);
    expect(idsOf(observer.owners)).toEqual({ 0: 'a', 1: 'b' });
  });

  it('waits for a group that is missing, and creates nothing', async () => {
    const { server, joinAndWait, observe, ownersAmong } = await setUp();
    const { observer, changes } = await observe();
    expect([observer.owners.size, observer.members, observer.ownerOf('key')]).toEqual([0, [], undefined]);
    expect(server.paths(GROUP)).toEqual([]);
    const member = await joinAndWait('a');
    expect(idsOf(observer.owners)).toEqual(ownersAmong([member]));
    expect(changes).toEqual([ownersAmong([member])]);
  });

  it('shows nothing of a member any more as soon as its session has expired', async () => {
    const { clock, joinAll, observe, ownersAmong } = await setUp();
    const members = await joinAll('a', 'b');
    const { observer } = await observe();
    const lost = Object.keys(ownersAmong([members[1]]));
    members[1].expire();
    await clock.advance(10);
    expect(idsOf(observer.owners)).toEqual(ownersAmong([members[0]]));
    expect(observer.members.map(({ id }) => id)).toEqual(['a']);
    await clock.advance(takeoverDelayMs(TIMES.leaseMs) + A_WHILE_MS);
    expect(lost.map((shard) => observer.ownerOfShard(shard)?.id)).toEqual(lost.map(() => 'a'));
  });

  it('shows a member that is silent until it is buried, and not its publication, which stays', async () => {
    const { clock, server, joinAll, observe, ownersAmong } = await setUp();
    const members = await joinAll('a', 'b');
    const { observer } = await observe();
    const before = ownersAmong(members);
    members[1].silence();
    await clock.advance(TIMES.leaseMs);
    expect(idsOf(observer.owners)).toEqual(before);
    await clock.advance(takeoverDelayMs(TIMES.leaseMs) - TIMES.leaseMs + A_WHILE_MS);
    expect(server.paths(`${GROUP}/owned`)).toHaveLength(3);
    expect(idsOf(observer.owners)).toEqual(ownersAmong([members[0]]));
    expect(observer.owners.size).toBe(8);
  });

  it('gives an iterator the owners at first and after each change, and ends it', async () => {
    const { clock, open, joinAndWait, prepare } = await setUp();
    const { observer } = prepare(await open(TIMES));
    const early = observer[Symbol.asyncIterator]();
    const first = early.next();
    await clock.advanceUntil(observer.start());
    expect((await first).value?.size).toBe(0);
    const late = observer[Symbol.asyncIterator]();
    expect((await late.next()).value?.size).toBe(0);
    const next = late.next();
    await joinAndWait('a');
    expect((await next).value?.size).toBe(8);
    // It didn't keep up, and gets the newest owners alone.
    await joinAndWait('b');
    await joinAndWait('c');
    expect((await early.next()).value).toBe(observer.owners);
    await clock.advanceUntil(observer.stop());
    expect(await early.next()).toEqual({ done: true, value: undefined });
    expect((await late.next()).value?.size).toBe(8);
    expect((await late.next()).done).toBe(true);
    expect((await observer[Symbol.asyncIterator]().next()).done).toBe(true);
  });
});

describe('an observer of a group’s nodes', () => {
  it('takes for the owner the member that has published a shard later, and none that isn’t listed', async () => {
    const { group, observer, start, carryOut } = await setUpScript(2);
    const [former, next] = [await carryOut(group.join('former')), await carryOut(group.join('next'))];
    await carryOut(group.publish(former, [0, 1]));
    await start();
    await carryOut(group.publish(next, [1]));
    expect(idsOf(observer.owners)).toEqual({ 0: 'former', 1: 'next' });
    await carryOut(group.publish(former, [0]));
    await carryOut(group.bury(next));
    expect(idsOf(observer.owners)).toEqual({ 0: 'former' });
  });

  it('follows another number of shards', async () => {
    const { group, observer, changes, start, carryOut } = await setUpScript(2);
    const member = await carryOut(group.join('a'));
    await carryOut(group.publish(member, [0, 1, 2, 3]));
    await start();
    expect(idsOf(observer.owners)).toEqual({ 0: 'a', 1: 'a' });
    await carryOut(group.list(4));
    expect(idsOf(observer.owners)).toEqual({ 0: 'a', 1: 'a', 2: 'a', 3: 'a' });
    expect(observer.ownerOf('order-17')).toBe(observer.owners.get(String(shardOf('order-17', 4))));
    await carryOut(group.list(1));
    expect(changes.slice(1)).toEqual([
      { 2: 'a', 3: 'a' },
      { 1: undefined, 2: undefined, 3: undefined },
    ]);
  });

  it('of shards with names says who owns which, and to none that a key belongs to it', async () => {
    const { group, observer, start, carryOut } = await setUpScript(['north', 'south']);
    const member = await carryOut(group.join('a'));
    await carryOut(group.publish(member, [1]));
    expect(observer.ownerOf('key')).toBeUndefined();
    await start();
    expect(observer.ownerOfShard('south')?.id).toBe('a');
    expect([observer.ownerOfShard('north'), observer.ownerOfShard('west')]).toEqual([undefined, undefined]);
    expect(() => observer.ownerOf('key')).toThrow(InvalidStateError);
    expect(() => observer.ownerOf(7 as never)).toThrow(InvalidOptionError);
  });

  it('shows no member whose node or publication says nothing that it can read', async () => {
    const { clock, writer, group, observer, errors, start, carryOut } = await setUpScript(3);
    const nodes = [];
    for (const id of ['a', 'b', 'c']) nodes.push(await carryOut(group.join(id)));
    for (const [number, node] of nodes.entries()) await carryOut(group.publish(node, [number]));
    await clock.advanceUntil(writer.setData(`${group.paths.members}/${nodes[0]}`, Buffer.from('else')));
    await clock.advanceUntil(writer.setData(group.paths.ownedOf(nodes[1] as string), Buffer.from('else')));
    await clock.advanceUntil(writer.create(`${group.paths.members}/else`));
    await start();
    expect(idsOf(observer.owners)).toEqual({ 2: 'c' });
    expect(observer.members.map(({ id }) => id)).toEqual(['b', 'c']);
    expect(errors).toEqual([]);
  });

  it('leaves out the members that it may not read, and says so once', async () => {
    const { server, group, observer, errors, start, carryOut } = await setUpScript(3);
    const nodes = [];
    for (const id of ['a', 'b', 'c']) nodes.push(await carryOut(group.join(id)));
    for (const [number, node] of nodes.entries()) await carryOut(group.publish(node, [number]));
    server.failWith('NO_AUTH', { operation: 'getData', path: `${group.paths.members}/${nodes[0]}` });
    server.failWith('NO_AUTH', { operation: 'getData', path: group.paths.ownedOf(nodes[1] as string) });
    await start();
    expect(idsOf(observer.owners)).toEqual({ 2: 'c' });
    expect(errors).toHaveLength(1);
    expect(errors[0]).toBeInstanceOf(ZooKeeperError);
  });

  it('does not start if a server refuses to show the group', async () => {
    const { server, observer, changes, start } = await setUpScript();
    server.failWith('NO_AUTH', { operation: 'getData', path: GROUP });
    await expect(start()).rejects.toThrow(ZooKeeperError);
    await expect(observer.start()).rejects.toThrow(InvalidStateError);
    expect(changes).toEqual([]);
  });

  it('shows no owner while a server refuses, says why, and tries again', async () => {
    const { clock, server, group, observer, changes, errors, start, carryOut } = await setUpScript(1);
    await carryOut(group.publish(await carryOut(group.join('a')), [0]));
    await start();
    const refusal = server.failWith('NO_AUTH', { operation: 'getData', path: group.paths.members });
    await carryOut(group.join('b'));
    expect([observer.owners.size, observer.members, errors.length]).toEqual([0, [], 1]);
    refusal.clear();
    await clock.advance(1000);
    expect(changes).toEqual([{ 0: 'a' }, { 0: undefined }, { 0: 'a' }]);
    expect(observer.members.map(({ id }) => id)).toEqual(['a', 'b']);
  });
});

describe('an observer of shards whose connection is lost', () => {
  it('keeps what it has read, and shows what happened meanwhile, also what was waited for', async () => {
    const { clock, server, group, session, observer, changes, start, carryOut } = await setUpScript(2);
    const [first, second] = [await carryOut(group.join('a')), await carryOut(group.join('b'))];
    await carryOut(group.publish(first, [0]));
    await start();
    const atServer = sessionAt(server, session);
    atServer.partition();
    await carryOut(group.publish(second, [1]));
    await clock.advance(TIMES.sessionTimeoutMs / 2);
    expect(idsOf(observer.owners)).toEqual({ 0: 'a' });
    atServer.heal();
    await clock.advance(2000);
    expect(session.signal.aborted).toBe(false);
    expect(changes).toEqual([{ 0: 'a' }, { 1: 'b' }]);
    expect(server.watchCount(group.paths.ownedOf(second))).toBe(1);
  });

  it('shows no owner after a session timeout without a server, and looks again when there is one', async () => {
    const { clock, server, group, session, observer, changes, start, carryOut } = await setUpScript(1);
    await carryOut(group.publish(await carryOut(group.join('a')), [0]));
    await start();
    await server.crash();
    await clock.advance(TIMES.sessionTimeoutMs - 1000);
    expect(observer.owners.size).toBe(1);
    await clock.advance(2000);
    expect(observer.owners.size).toBe(0);
    await server.restart();
    await clock.advance(10_000);
    expect(session.signal.aborted).toBe(false);
    expect(changes).toEqual([{ 0: 'a' }, { 0: undefined }, { 0: 'a' }]);
  });
});

describe('the sessions of an observer of shards', () => {
  it('may be one alone, with whose end it ends', async () => {
    const { clock, group, session, observer, changes, errors, start, carryOut } = await setUpScript(1);
    await carryOut(group.publish(await carryOut(group.join('a')), [0]));
    await start();
    const iterator = observer[Symbol.asyncIterator]();
    await clock.advanceUntil(session.close());
    expect((await iterator.next()).value?.size).toBe(0);
    expect((await iterator.next()).done).toBe(true);
    expect([changes, errors]).toEqual([[{ 0: 'a' }, { 0: undefined }], []]);
    await expect(observer.start()).rejects.toThrow(InvalidStateError);
  });

  it('follow one another with a supervisor, and between two of them no owner is shown', async () => {
    const { clock, server, open, joinAndWait, observe, ownersAmong } = await setUp();
    const member = await joinAndWait('a');
    const [first, second] = [await open(TIMES), await open(TIMES)];
    const { observer, changes, errors } = await observe(oneAfterTheOther(first, second));
    server.expireSession(({ id }) => id === first.credentials.id);
    await clock.advance(A_WHILE_MS);
    expect(first.signal.reason).toBeInstanceOf(SessionExpiredError);
    const all = ownersAmong([member]);
    const none = Object.fromEntries(Object.keys(all).map((shard) => [shard, undefined]));
    expect(changes).toEqual([all, none, all]);
    expect([idsOf(observer.owners), errors]).toEqual([all, []]);
  });

  it('may be its own, with a connect string, and are closed when it stops', async () => {
    const { clock, server, group, carryOut } = await setUpScript(1);
    await carryOut(group.publish(await carryOut(group.join('a')), [0]));
    const { observer } = observerOf((promise) => clock.advanceUntil(promise), server.connectString, GROUP, {
      session: { environment: clock.environment, ...TIMES },
      logger: SILENT,
    });
    await clock.advanceUntil(observer.start());
    expect([idsOf(observer.owners), server.sessions().length]).toEqual([{ 0: 'a' }, 3]);
    await clock.advanceUntil(observer.stop());
    expect(server.sessions()).toHaveLength(2);
  });

  it('are refused if they are none, or come with a wrong path or option', async () => {
    const { session } = await setUpScript();
    expect(() => new ShardObserver('zk1:x', GROUP)).toThrow(InvalidOptionError);
    expect(() => new ShardObserver(session, 'group')).toThrow(InvalidOptionError);
    expect(() => new ShardObserver(session, GROUP, { session: {} })).toThrow(InvalidOptionError);
    expect(() => new ShardObserver(session, GROUP, { sesion: {} } as never)).toThrow(InvalidOptionError);
    expect(() => new ShardObserver(7 as never, GROUP)).toThrow(
      'session is 7: expected a Session, a connect string or a supervisor',
    );
  });
});

describe('what observers of shards cost', () => {
  it('is two watches and one for each member, however many shards there are, and one read for a change', async () => {
    const { clock, server, open, writer, group, carryOut } = await setUpScript(4096);
    const nodes: string[] = [];
    for (let member = 0; member < 10; member++) {
      const node = await carryOut(group.join(`m${member}`));
      const numbers = Array.from({ length: 410 }, (_, at) => at * 10 + member).filter((each) => each < 4096);
      await carryOut(group.publish(node, numbers));
      nodes.push(node);
    }
    const observers: ShardObserver[] = [];
    for (let count = 0; count < 20; count++) {
      const { observer } = observerOf((promise) => clock.advanceUntil(promise), await open(TIMES), GROUP);
      await clock.advanceUntil(observer.start());
      observers.push(observer);
    }
    expect(observers.every(({ owners }) => owners.size === 4096)).toBe(true);
    expect(server.watchCount()).toBe(20 * 12);

    server.resetCounts();
    await carryOut(group.publish(nodes[0] as string, [0, 1]));
    expect(observers.every(({ owners }) => owners.get('1')?.id === 'm0')).toBe(true);
    expect(server.count('getData')).toBe(20);
    expect(server.count('getChildren')).toBe(0);

    server.resetCounts();
    const node = await carryOut(group.join('new'));
    // The queue, the new member's node, and its publication, which isn't there yet.
    expect([server.count('getData'), server.count('getChildren')]).toEqual([20 * 3, 20]);
    await carryOut(group.publish(node, [1]));
    expect(observers.every(({ owners }) => owners.get('1')?.id === 'new')).toBe(true);
    expect(server.watchCount()).toBe(20 * 13);

    server.resetCounts();
    await carryOut(group.bury(nodes[3] as string));
    expect([server.count('getData'), server.count('getChildren')]).toEqual([20, 20]);
    expect(server.watchCount()).toBe(20 * 12);

    for (const observer of observers) await clock.advanceUntil(observer.stop());
    await clock.advance(10);
    expect(server.watchCount()).toBe(0);
    expect(writer.signal.aborted).toBe(false);
  });

  it('is nothing any more when they have stopped, also where several have one session', async () => {
    const { clock, server, group, session, observer, start, carryOut } = await setUpScript(2);
    const member = await carryOut(group.join('a'));
    const second = observerOf((promise) => clock.advanceUntil(promise), session, GROUP);
    await start();
    await clock.advanceUntil(second.observer.start());
    await clock.advanceUntil(observer.stop());
    await carryOut(group.publish(member, [0]));
    expect(idsOf(second.observer.owners)).toEqual({ 0: 'a' });
    const timers = clock.timerCount;
    await clock.advanceUntil(second.observer.stop());
    await clock.advance(10);
    expect([server.watchCount(), clock.timerCount]).toEqual([0, timers]);
  });
});
