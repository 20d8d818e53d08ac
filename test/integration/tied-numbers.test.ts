import { describe, expect, it, onTestFinished } from 'vitest';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import type { LockHold } from '../../src/lock/lock-hold.js';
import { ReadWriteLock } from '../../src/lock/read-write-lock.js';
import { Semaphore } from '../../src/lock/semaphore.js';
import { deferred, ignore } from '../../src/promises.js';
import { EmbeddedZooKeeper } from '../../src/testing/index.js';
import { openSession } from '../helpers/cluster.js';
import { ask } from '../helpers/locks.js';

const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/**
 * A server at which as many nodes were created below `/q` as the counter can tell apart. Real servers can't be brought
 * there in a test; since 3.6 at least they stay there (`DataTree.createNode` takes over a parent's version only if it is
 * higher), so that all later nodes have the same number.
 */
async function serverAtTheEnd() {
  const server = await EmbeddedZooKeeper.start({ logger: SILENT });
  onTestFinished(() => server.stop());
  const session = await openSession({}, server.connectString);
  await session.ensurePath('/q');
  server.setNextSequence('/q', 2 ** 31 - 2);
  return { server, connect: server.connectString };
}

describe('after two thousand million nodes, when all numbers are the same,', () => {
  it('a lock is held by one after the other, in the order of asking', async () => {
    const { server, connect } = await serverAtTheEnd();
    const order: number[] = [];
    const turns: Promise<void>[] = [];
    let inside = 0;
    const allHaveAsked = deferred();
    for (let index = 0; index < 8; index++) {
      const { hold } = await ask(new DistributedLock(await openSession({}, connect), '/q'));
      const turn = async (held: LockHold) => {
        expect(++inside).toBe(1);
        order.push(index);
        await allHaveAsked.promise;
        await new Promise((resolve) => setTimeout(resolve, 2));
        inside--;
        await held.release();
      };
      turns.push(hold.then(turn));
    }
    expect(server.paths('/q').filter((path) => path.endsWith('2147483647')).length).toBeGreaterThan(3);
    allHaveAsked.resolve();
    await Promise.all(turns);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(server.paths('/q')).toEqual(['/q']);
  });

  it('one that gives up in the middle is passed over', async () => {
    const { connect } = await serverAtTheEnd();
    const locks = await Promise.all(
      [1, 2, 3, 4].map(async () => new DistributedLock(await openSession({}, connect), '/q')),
    );
    const [first, second, third, fourth] = locks as [
      DistributedLock,
      DistributedLock,
      DistributedLock,
      DistributedLock,
    ];
    const holding = await first.acquire();
    const waiting = await ask(second);
    const abort = new AbortController();
    const giving = third.acquire({ signal: abort.signal, onWaiting: () => abort.abort('enough') });
    await expect(giving).rejects.toBe('enough');
    const last = await ask(fourth);
    await holding.release();
    await (await waiting.hold).release();
    await (await last.hold).release();
  });

  it('a semaphore has its seats, and a read-write lock its readers', async () => {
    const { connect } = await serverAtTheEnd();
    const session = await openSession({}, connect);
    await session.setData('/q', Buffer.from('{"seats":2}'));
    const seats = [1, 2, 3].map(() => new Semaphore(session, '/q', 2));
    const holds = [await seats[0]?.acquire(), await seats[1]?.acquire()];
    expect(await seats[2]?.tryAcquire()).toBeUndefined();
    await Promise.all(holds.map(async (hold) => await hold?.release()));
    const table = new ReadWriteLock(session, '/q');
    const reading = [await table.readLock.acquire(), await table.readLock.acquire()];
    expect(await table.writeLock.tryAcquire()).toBeUndefined();
    await Promise.all(reading.map(async (hold) => await hold.release()));
    const writing = await table.writeLock.acquire();
    expect(await table.readLock.tryAcquire()).toBeUndefined();
    await writing.release();
  });
});
