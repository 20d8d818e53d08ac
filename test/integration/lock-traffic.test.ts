/** The requests of locks, as the server counts them, and the nodes and watches that locks leave behind. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import type { LockHold } from '../../src/lock/lock-hold.js';
import { deferred } from '../../src/platform/async/promises.js';
import type { QueuePosition } from '../../src/queue/turn-wait.js';
import type { Session } from '../../src/session/session.js';
import { enqueue } from '../support/conclave/enqueue.js';
import { type AnyLock, LOCK_KINDS } from '../support/conclave/lock-kinds.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { CountingServer, QUIET_SESSION } from '../support/servers/counting-server.js';

let server: CountingServer;
beforeAll(async () => {
  server = await CountingServer.start();
});
afterAll(() => server.stop());

/** Lets all sessions ask at once. Resolves when one holds and all others wait, with the holds as they come. */
async function queueUp(
  sessions: readonly Session[],
  path: string,
): Promise<AsyncIterator<LockHold, LockHold>> {
  const allWait = deferred();
  let waiting = 0;
  const holds: LockHold[] = [];
  let came = deferred();
  for (const session of sessions) {
    const onWaiting = () => {
      if (++waiting === sessions.length - 1) allWait.resolve();
    };
    const acquired = new DistributedLock(session, path).acquire({ onWaiting });
    const note = (hold: LockHold) => {
      holds.push(hold);
      came.resolve();
    };
    acquired.then(note).catch(() => undefined); // The test closes the sessions while some still wait.
  }
  await allWait.promise;
  return {
    async next() {
      while (holds.length === 0) {
        came = deferred();
        await came.promise;
      }
      return { value: holds.shift() as LockHold };
    },
  };
}

describe('a handover', () => {
  // The holder that leaves removes its watch and deletes its node. The next contender lists the contenders that are left, unless it
  // has known from the beginning that only one was ahead of it. The first two contenders here know that.
  const [LEAVING, LISTING] = [2, 1];

  it.each([2, 15, 100, 1000])(
    'among %i contenders is one notification, and as many requests as among any other number',
    async (contenders) => {
      const sessions = await server.openSessions(contenders);
      const holds = await queueUp(sessions, uniquePath('lock'));
      const handovers = Math.min(contenders - 1, 14);
      let { value: hold } = await holds.next();
      await Promise.all(sessions.map((session) => session.exists('/'))); // All watches are set.
      const traffic = await server.during(sessions, async () => {
        for (let round = 0; round < handovers; round++) {
          const token = hold.token;
          await hold.release();
          ({ value: hold } = await holds.next());
          expect(hold.token).toBeGreaterThan(token);
        }
      });
      // The first holder never waited, and hasn't held for long, so it has no watch to remove.
      const requests = handovers * LEAVING - 1 + (handovers - 1) * LISTING;
      expect(traffic).toEqual({ requests, notifications: handovers });
      await hold.release();
    },
  );

  it('to the only one that waits takes no request of that one', async () => {
    const proxy = await startProxy(server.port);
    const [holder] = (await server.openSessions(1)) as [Session];
    const successor = await openSession(QUIET_SESSION, proxy.connectString);
    const path = uniquePath('lock');
    const hold = await new DistributedLock(holder, path).acquire();
    const next = await enqueue(new DistributedLock(successor, path));
    await successor.exists('/'); // The watch is set.
    const before = proxy.requests;
    await hold.release();
    const held = await next.hold;
    expect(held.isHeld()).toBe(true);
    await successor.exists('/'); // All requests, also those whose answers it didn't await, have passed the proxy.
    expect(proxy.requests - before).toBe(1);
    await held.release();
  });
});

describe('one far behind', () => {
  /** With this timeout, waiters look which contenders are ahead five times in a session timeout. */
  const SHORT = { sessionTimeoutMs: 2000 };

  it('notices that it has become next in line, and holds then without a word of its own', async () => {
    const proxy = await startProxy(server.port);
    const path = uniquePath('lock');
    const sessions = await server.openSessions(3);
    const last = await openSession(SHORT, proxy.connectString);
    const first = await new DistributedLock(sessions[0] as Session, path).acquire();
    const second = await enqueue(new DistributedLock(sessions[1] as Session, path));
    const third = await enqueue(new DistributedLock(sessions[2] as Session, path));
    const isNext = deferred();
    const waiting = deferred();
    const onWaiting = ({ position }: QueuePosition) => (position === 1 ? isNext : waiting).resolve();
    const held = new DistributedLock(last, path).acquire({ onWaiting });
    await waiting.promise;
    await first.release();
    await (await second.hold).release();
    const hold = await third.hold;
    await isNext.promise;
    await last.exists('/'); // Its first heartbeat as the next in line has been answered.
    proxy.partition('upstream');
    await hold.release();
    expect((await held).isHeld()).toBe(true);
    proxy.restore();
    await (await held).release();
  });

  it('costs one request in a fifth of a session timeout, a look or a ping', async () => {
    const [holder, other] = (await server.openSessions(2)) as [Session, Session];
    const path = uniquePath('lock');
    const hold = await new DistributedLock(holder, path).acquire();
    const next = await enqueue(new DistributedLock(other, path));
    const proxy = await startProxy(server.port);
    const waiter = await openSession(SHORT, proxy.connectString);
    await enqueue(new DistributedLock(waiter, path));
    await waiter.exists('/');
    const since = performance.now();
    const before = proxy.requests;
    // When the proxy has counted the requests, the last one has only just been sent. `during` waits for its answer, too.
    const traffic = await server.during([waiter], async () => {
      const soFar = expect.poll(() => proxy.requests - before, { timeout: 10_000 });
      await soFar.toBeGreaterThanOrEqual(6);
      const fifths = (performance.now() - since) / (SHORT.sessionTimeoutMs / 5);
      expect(proxy.requests - before).toBeLessThanOrEqual(fifths + 2);
    });
    expect(traffic.notifications).toBe(0);
    await waiter.close();
    await hold.release();
    await (await next.hold).release();
  });
});

describe('acquiring and releasing a lock that no other session wants', () => {
  it.each([
    ['a lock', 3], // It creates and lists, and then deletes.
    ['a write lock', 3],
    ['a read lock', 3],
    ['a semaphore of one seat', 5], // It also reads the number of seats with a watch, and removes the watch.
    ['a semaphore of three seats', 5],
    ['a lock of two', 6],
  ])('%s takes %i requests and no notification', async (name, perCycle) => {
    const sessions = await server.openSessions(1);
    const lock = LOCK_KINDS.find((kind) => kind.name === name)?.make(
      sessions[0] as Session,
      uniquePath('lock'),
    ) as AnyLock;
    await lock.using(() => undefined); // This creates the nodes that are created only once.
    const cycles = 10;
    const traffic = await server.during(sessions, async () => {
      for (let cycle = 0; cycle < cycles; cycle++) await (await lock.acquire()).release();
    });
    expect(traffic).toEqual({ requests: cycles * perCycle, notifications: 0 });
  });
});

describe('after all contenders have stopped', () => {
  /** Resolves after the answers to everything that these sessions have sent before. */
  const settle = (sessions: readonly Session[]) =>
    Promise.all(sessions.map((session) => session.exists('/')));

  it.each(LOCK_KINDS)('$name leaves no watch and no node, however it was waited for', async (kind) => {
    const sessions = await server.openSessions(6);
    const path = uniquePath('lock');
    const [first, ...others] = sessions.map((session) => kind.make(session, path)) as [AnyLock, ...AnyLock[]];
    await Promise.all([first, ...others].map(async (lock) => await lock.using(() => undefined)));
    // Plain locks at the head of each queue keep all contenders from holding.
    const blocking = (await server.openSessions(1))[0] as Session;
    const blockers = await Promise.all(
      kind.queues(path).map(async (queue) => await new DistributedLock(blocking, queue).acquire()),
    );
    const seats = Number.isFinite(kind.holders) ? kind.holders - 1 : 0;
    const beside = [];
    for (const lock of others.slice(0, seats)) beside.push(await lock.acquire());
    const rest = others.slice(seats);
    expect(await first.tryAcquire()).toBeUndefined();
    const late = rest.map((lock) => lock.acquire({ timeoutMs: 60 }).catch((error: Error) => error.name));
    const aborts = [first, ...rest].map((lock) => {
      const abort = new AbortController();
      const onWaiting = () => abort.abort('no more');
      return lock.acquire({ signal: abort.signal, onWaiting }).catch((reason: unknown) => reason);
    });
    expect(new Set(await Promise.all(aborts))).toEqual(new Set(['no more']));
    expect(new Set(await Promise.all(late))).toEqual(new Set(['LockTimeoutError']));
    const served = [first, ...rest].map(async (lock) => await (await lock.acquire()).release());
    await expect.poll(() => server.watches()).toBeGreaterThan(0);
    await Promise.all([...blockers, ...beside].map((hold) => hold.release()));
    await Promise.all(served);
    await settle([...sessions, blocking]);
    expect(await server.watches()).toBe(0);
    for (const queue of kind.queues(path)) expect(await blocking.getChildren(queue)).toEqual([]);
  });

  it.each(LOCK_KINDS)('$name leaves no watch when it was given up without a connection', async (kind) => {
    const proxy = await startProxy(server.port);
    const session = await openSession(QUIET_SESSION, proxy.connectString);
    const path = uniquePath('lock');
    const lock = kind.make(session, path);
    await lock.using(() => undefined);
    await eventAfter(session, 'suspended', () => proxy.cut());
    const abort = new AbortController();
    const aborted = expect(lock.acquire({ signal: abort.signal })).rejects.toBe('no more');
    abort.abort('no more');
    await aborted;
    await expect(lock.acquire({ timeoutMs: 20 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    await eventAfter(session, 'resumed', () => proxy.restore());
    for (let round = 0; round < 4; round++) await session.exists('/'); // A late node may still be created, and is deleted again.
    await expect.poll(() => server.watches()).toBe(0);
    for (const queue of kind.queues(path)) expect(await session.getChildren(queue)).toEqual([]);
  });
});
