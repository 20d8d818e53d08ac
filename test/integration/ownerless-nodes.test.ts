/** Nodes with contenders' names that no session owns. Any client that may create children can leave such nodes behind. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Candidate } from '../../src/election/candidates/candidate.js';
import { candidateUuid } from '../../src/election/candidates/candidate-uuid.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { parseRecord, serializeRecord } from '../../src/election/record/election-record.js';
import type { Term } from '../../src/election/term/term.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { ReadWriteLock } from '../../src/lock/read-write-lock.js';
import type { SessionOptions } from '../../src/session/session-options.js';
import { campaign, lead as leadWith } from '../support/conclave/electors.js';
import { enqueue } from '../support/conclave/enqueue.js';
import { LOCK_KINDS } from '../support/conclave/lock-kinds.js';
import { openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { SILENT } from '../support/silent-logger.mjs';
import { endsWithTest } from '../support/vitest/test-end.js';
import { openAdminClient } from '../support/wire/admin-client.js';

const PRIORITY_255 = '01234567-89ab-81ff-8123-07d00000cdef';

const nameOf = (number: number, id = `01234567-89ab-cdef-0123-${String(number).padStart(12, '0')}`) =>
  `_c_${id}-lock-${String(number).padStart(10, '0')}`;

/** Opens a session that has nothing to warn of, except for ownerless nodes. */
async function openQuiet(options: SessionOptions = {}) {
  const warnings: { path?: string; message: string }[] = [];
  const warn = (details: object, message: string) => void warnings.push({ ...details, message });
  const session = await openSession({ ...options, logger: { ...SILENT, warn } });
  return {
    session,
    ignored: () => warnings.filter(({ message }) => message.includes('belongs to no session')),
  };
}

/** Leaves a node behind as another client, at a path that no contender has used. */
async function leaveNode(node = nameOf(0), path = uniquePath('queue')) {
  const stranger = await openSession();
  await stranger.create(path);
  await stranger.create(`${path}/${node}`);
  return { stranger, path, node: `${path}/${node}` };
}

async function lead(path: string, options = {}): Promise<{ elector: LeaderElector; term: Term }> {
  const elector = endsWithTest(new LeaderElector(await openSession(), path, options));
  const [term] = await eventAfter<[Term]>(elector, 'elected', () => elector.start());
  return { elector, term };
}

describe('a node of a contender’s name that goes with no session', () => {
  it.each(LOCK_KINDS)('is in the way of no contender for $name', async (kind) => {
    const { session: stranger, path } = await openWithPath('queue');
    for (const queue of kind.queues(path)) {
      await stranger.ensurePath(queue);
      for (const number of [0, 1, 2, 3]) await stranger.create(`${queue}/${nameOf(number)}`);
    }
    const { session, ignored } = await openQuiet();
    await (await kind.make(session, path).acquire({ timeoutMs: 5000 })).release();
    const hold = await kind.make(session, path).tryAcquire();
    expect(hold).toBeDefined();
    await hold?.release();
    for (const warning of ignored()) expect(warning.path).toContain(path);
  });

  it('is warned about once, by name, with what to do', async () => {
    const { path, node } = await leaveNode();
    const { session, ignored } = await openQuiet();
    const lock = new DistributedLock(session, path);
    for (let count = 0; count < 3; count++) await (await lock.acquire()).release();
    expect(ignored()).toMatchObject([{ path: node }]);
    expect(ignored()[0]?.message).toContain('delete it');
  });

  it('lets no contender hold while one with a session is ahead', async () => {
    const path = uniquePath('queue');
    const [first, second] = [new DistributedLock(await openSession(), path), await openQuiet()];
    const held = await first.acquire();
    await second.session.create(`${path}/${nameOf(5)}`); // The next numbers are lower.
    const waiter = await enqueue(new DistributedLock(second.session, path));
    expect(await new DistributedLock(await openSession(), path).tryAcquire()).toBeUndefined();
    expect(waiter.held()).toBe(false);
    await held.release();
    await (await waiter.hold).release();
  });

  it('that is a container counts as one', async () => {
    const operator = await openAdminClient();
    const { session, ignored } = await openQuiet();
    const path = uniquePath('queue');
    await session.create(path);
    await operator.createContainer(`${path}/${nameOf(0)}`);
    await (await new DistributedLock(session, path).acquire({ timeoutMs: 5000 })).release();
    expect(ignored()).toHaveLength(1);
  });

  it('is not waited for by readers', async () => {
    const { path } = await leaveNode('_c_01234567-89ab-cdef-0123-456789abcdef-__WRIT__0000000000');
    const lock = new ReadWriteLock(await openSession(), path);
    const hold = await lock.readLock.acquire({ timeoutMs: 5000 });
    expect(await lock.writeLock.tryAcquire()).toBeUndefined();
    await hold.release();
    await (await lock.writeLock.acquire({ timeoutMs: 5000 })).release();
  });

  it('is not asked to give up the lock', async () => {
    const { stranger, path } = await leaveNode();
    const session = await openSession();
    const lock = new DistributedLock(session, path, { onRevoke: (hold) => hold.release() });
    const hold = await lock.acquire({ timeoutMs: 5000 });
    const asked = await new DistributedLock(stranger, path).revoke({ timeoutMs: 5000 });
    expect(`${path}/${asked?.node}`).toBe(hold.path);
    expect(hold.isHeld()).toBe(false);
  });

  it('keeps no candidate from being elected, and leads nothing', async () => {
    const { path } = await leaveNode();
    const { elector } = await lead(path);
    const candidates = await elector.candidates();
    expect(candidates.map(({ node }) => node)).toEqual([(await elector.leader())?.node]);
  });

  it('is not the leader that the record names, though it has that name', async () => {
    const { session: stranger, path } = await openWithPath('election');
    // As after an unclean end, but another client's node has the dead leader's name.
    const node = nameOf(0);
    const record = { state: 'held', term: 1, id: 'dead', node, leaseMs: 1000 } as const;
    await stranger.create(path, { data: serializeRecord(record) });
    await stranger.create(`${path}/${node}`);
    const waiting = new LeaderElector(stranger, path);
    expect(await waiting.leader()).toBeUndefined();
    const { term } = await lead(path);
    expect(term.number).toBe(2);
  });

  it('is waited out as after an unclean end if it is handed a term by its name', async () => {
    const { session: stranger, path } = await openWithPath('election');
    const leaseMs = 300;
    const open = () => openSession({ sessionTimeoutMs: 6000, leaseMs });
    const [first] = await leadWith(await open(), path);
    const leader = await campaign(await open(), path, { id: 'leader' });
    const { sequence } = (await first.candidates())[1] as Candidate;
    // The forged node is behind the leader, which has never looked at it, and ahead of all others.
    const forged = nameOf(sequence + 1, candidateUuid(randomUUID(), 0, leaseMs));
    await stranger.create(`${path}/${forged}`);
    const electors = [await campaign(await open(), path)];
    electors.push(await campaign(await open(), path));
    onTestFinished(async () => void (await Promise.all(electors.map((each) => each.stop()))));
    const [next, last] = electors as [LeaderElector, LeaderElector];
    await eventAfter(leader, 'elected', () => first.stop()); // The leader lists the queue behind it.
    const elected = nextEvent<[Term]>(next, 'elected');
    const stoppedAt = performance.now();
    await leader.stop();
    const { data, stat } = await stranger.getData(path);
    expect(parseRecord(data, stat.version)).toMatchObject({ state: 'held', term: 3, node: forged });
    expect(await next.leader()).toBeUndefined();
    expect((await elected)[0].number).toBe(4);
    expect(performance.now() - stoppedAt).toBeGreaterThan(leaseMs);
    const follows = nextEvent<[Term]>(last, 'elected');
    await next.stop();
    expect((await follows)[0].number).toBe(5); // The forged node was handed no other term.
  });

  it('is not called to lead, whatever priority its name says', async () => {
    const { session: stranger, path } = await openWithPath('election');
    const first = await lead(path);
    // By then the leader has the answer to the listing after its claim. It may hand a term to a node of that listing by its name.
    await first.elector.session.exists(path);
    await stranger.create(`${path}/${nameOf(9, PRIORITY_255)}`, { data: Buffer.from('{"id":"x"}') });
    const second = endsWithTest(new LeaderElector(await openSession(), path));
    await eventAfter(second, 'waiting', () => second.start());
    await expect(first.elector.handOver('x')).rejects.toMatchObject({ code: 'NO_CANDIDATE' });
    const elected = nextEvent<[Term]>(second, 'elected');
    const resignedAt = performance.now();
    await first.elector.stop();
    expect((await elected)[0].number).toBe(2);
    // No other node was handed the term before. A wait for its lease would take a third of 5 s.
    expect(performance.now() - resignedAt).toBeLessThan(1200);
  });
});

it('a node of no session whose name extraLockPatterns matches holds the lock, as a lock of kazoo that is not ephemeral, until it is deleted', async () => {
  const name = `${randomUUID().replaceAll('-', '')}__lock__0000000000`;
  const { stranger: kazoo, path, node } = await leaveNode(name);
  const { session, ignored } = await openQuiet();
  const lock = new DistributedLock(session, path, { extraLockPatterns: ['__lock__'] });
  expect(await lock.tryAcquire()).toBeUndefined();
  const waiter = await enqueue(lock);
  const asked = new DistributedLock(session, path, { extraLockPatterns: ['__lock__'] }).revoke();
  await session.exists(path); // The reads of the node that were sent before have been answered.
  expect(waiter.held()).toBe(false);
  await kazoo.remove(node);
  await (await waiter.hold).release();
  expect(`${path}/${(await asked)?.node}`).toBe(node);
  expect(ignored()).toEqual([]);
});

describe('a leader that goes, with nodes of no session in its queue', () => {
  it.each([
    ['behind', 9],
    ['ahead', 0],
  ])('calls the one with the highest priority of those that can lead: a node %s', async (_, number) => {
    const { session: stranger, path } = await openWithPath('election');
    if (number === 0) {
      await stranger.create(path);
      await stranger.create(`${path}/${nameOf(number, PRIORITY_255)}`);
    }
    const first = await lead(path);
    await first.elector.session.exists(path); // As above.
    if (number > 0) await stranger.create(`${path}/${nameOf(number, PRIORITY_255)}`);
    const elected: string[] = [];
    const electors = [];
    for (const [id, priority] of [
      ['ordinary', 0],
      ['preferred', 7],
    ] as const) {
      const elector = endsWithTest(new LeaderElector(await openSession(), path, { id, priority }));
      elector.on('elected', () => void elected.push(id));
      await eventAfter(elector, 'waiting', () => elector.start());
      electors.push(elector);
    }
    const next = Promise.race(electors.map((elector) => nextEvent(elector, 'elected')));
    await first.elector.stop();
    await next;
    expect(elected).toEqual(['preferred']);
  });
});

it('a node with the last number that no server has given costs candidates that join no further request, however long the queue is', async () => {
  const { session: stranger, path } = await openWithPath('queue');
  await stranger.create(path);
  const forged = [nameOf(2 ** 31 - 1), '_c_01234567-89ab-cdef-0123-456789abcdef-lock--2147483648'];
  for (const node of forged) await stranger.create(`${path}/${node}`, { mode: 'ephemeral' });
  const owners = await Promise.all(Array.from({ length: 20 }, () => openSession()));
  const waiters = await Promise.all(owners.map((session) => enqueue(new DistributedLock(session, path))));
  const session = await openSession();
  let reads = 0;
  const exists = session.exists.bind(session);
  session.exists = (node) => {
    reads++;
    return exists(node);
  };
  waiters.push(await enqueue(new DistributedLock(session, path)));
  expect(waiters.map(({ position }) => position).sort((a, b) => a - b)).toEqual(waiters.map((_, at) => at));
  expect(reads).toBe(0);
  for (const each of waiters.sort((a, b) => a.position - b.position)) await (await each.hold).release();
});
