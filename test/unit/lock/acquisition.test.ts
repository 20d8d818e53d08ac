import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, it, onTestFinished, vi } from 'vitest';
import { DistributedLock } from '../../../src/lock/distributed-lock.js';
import { Session } from '../../../src/session/session.js';
import { EmbeddedZooKeeper } from '../../../src/testing/index.js';

async function setUp() {
  const server = await EmbeddedZooKeeper.start();
  onTestFinished(() => server.stop());
  const open = async () => {
    const session = await Session.connect(server.connectString);
    onTestFinished(() => session.close());
    return session;
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
