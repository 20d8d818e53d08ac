import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { DistributedLock } from '../../../src/lock/distributed-lock.js';
import { MultiLock } from '../../../src/lock/multi-lock/multi-lock.js';
import { Session } from '../../../src/session/session.js';
import { EmbeddedZooKeeper } from '../../../src/testing/index.js';
import { startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';
import { endsWithTest } from '../../support/vitest/test-end.js';

async function setUp() {
  const server = endsWithTest(await EmbeddedZooKeeper.start());
  const open = async () => {
    return endsWithTest(await Session.connect(server.connectString));
  };
  return { server, open };
}

it('a call that waits for a lock is notified of its position in the context of the work that asks, each time', async () => {
  const { open } = await setUp();
  const locks = [await open(), await open(), await open()].map(
    (session) => new DistributedLock(session, '/lock'),
  );
  const [first, second, third] = locks as [DistributedLock, DistributedLock, DistributedLock];
  const holding = await first.acquire();
  const work = new AsyncLocalStorage<string>();
  const positions: unknown[] = [];
  const next = second.acquire();
  await vi.waitUntil(async () => (await first.contenders()).length === 2);
  const last = work.run('work', () =>
    third.acquire({ onWaiting: ({ position }) => positions.push([position, work.getStore()]) }),
  );
  await vi.waitUntil(() => positions.length === 1);
  await holding.release();
  const hold = await next;
  await vi.waitUntil(() => positions.length === 2, { timeout: 5000 });
  await hold.release();
  await (await last).release();
  expect(positions).toEqual([
    [2, 'work'],
    [1, 'work'],
  ]);
});

it('a session can be closed by a listener of `suspended`, and is closed at the servers too', async () => {
  const { server, open } = await setUp();
  const session = await open();
  const closing = new Promise<void>((resolve) => session.on('suspended', () => resolve(session.close())));
  server.dropConnections();
  await closing;
  expect(session.state.name).toBe('closed');
  expect(server.sessions()).toEqual([]);
});

describe('a call with a limit', () => {
  const LIMIT_MS = 500;

  /** One lock is free and the other is held, on a server that a test lets hang. */
  async function twoLocks() {
    const { clock, server, open } = await startWithTestClock();
    const times = { sessionTimeoutMs: 30_000 };
    const [holder, session] = [await open(times), await open(times)];
    onTestFinished(() => server.resume()); // Before the sessions are closed.
    const { path } = await new DistributedLock(holder, '/locks/held').acquire();
    const held = new DistributedLock(session, '/locks/held');
    const both = new MultiLock([new DistributedLock(session, '/locks/free'), held]);
    const left = () => server.paths('/locks').filter((each) => each.includes('lock-') && each !== path);
    /** Lets the server hang when the call waits, and time go on. Resolves with how long the call took to reject. */
    const hang = async (call: Promise<unknown>) => {
      await vi.waitUntil(() => server.watchCount(path) === 1); // The call waits for the holder.
      server.pause();
      const hungAt = clock.now();
      const rejected = call.then(
        () => 'resolved',
        () => clock.now() - hungAt,
      );
      await clock.advance(LIMIT_MS);
      return await Promise.race([rejected, Promise.resolve('still waits')]);
    };
    return { clock, server, session, held, both, left, hang };
  }
  type Locks = Awaited<ReturnType<typeof twoLocks>>;
  const limited = { timeoutMs: LIMIT_MS };
  const nothing = () => undefined;
  const aborting = ({ clock }: Locks) => {
    const abort = new AbortController();
    clock.after(LIMIT_MS, () => abort.abort());
    return { signal: abort.signal };
  };

  it.each<[call: string, begin: (locks: Locks) => Promise<unknown>]>([
    ['acquire', ({ held }) => held.acquire(limited)],
    ['acquire with a signal', (locks) => locks.held.acquire(aborting(locks))],
    ['using', ({ held }) => held.using(nothing, limited)],
    ['acquire of a MultiLock', ({ both }) => both.acquire(limited)],
    ['acquire of a MultiLock with a signal', (locks) => locks.both.acquire(aborting(locks))],
    ['using of a MultiLock', ({ both }) => both.using(nothing, limited)],
  ])('rejects at its limit while the server hangs, and leaves nothing behind: %s', async (_, begin) => {
    const locks = await twoLocks();
    expect(await locks.hang(begin(locks))).toBe(LIMIT_MS);
    locks.server.resume();
    await vi.waitUntil(() => locks.left().length === 0);
  });

  it('resolves with undefined after a lease if it only tries while the server hangs', async () => {
    const { clock, server, session, held, both, left } = await twoLocks();
    server.pause();
    const tried = [held.tryAcquire(), both.tryAcquire()];
    await clock.advance(session.leaseMs);
    expect(
      await Promise.all(tried.map((each) => Promise.race([each, Promise.resolve('still tries')]))),
    ).toEqual([undefined, undefined]);
    server.resume();
    await session.exists('/'); // Answered after the creations, so that their withdrawal has begun.
    await vi.waitUntil(() => left().length === 0);
  });

  it('lets its session be closed while it leaves, and leaves nothing behind then either', async () => {
    const { server, session, held, left, hang } = await twoLocks();
    expect(await hang(held.acquire(limited))).toBe(LIMIT_MS);
    const closed = session.close();
    server.resume();
    await closed;
    expect(left()).toEqual([]);
  });
});
