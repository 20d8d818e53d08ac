import { describe, expect, inject, it, vi } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import {
  ConnectionLossError,
  InvalidOptionError,
  LockLostError,
  LockTimeoutError,
} from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import type { LockHold } from '../../src/lock/lock-hold.js';
import { ReadWriteLock } from '../../src/lock/read-write-lock.js';
import { Semaphore } from '../../src/lock/semaphore.js';
import { deferred } from '../../src/platform/async/promises.js';
import { fourLetterWord } from '../../tools/zookeeper/four-letter-word.mjs';
import { openProxied, openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { aborted, eventAfter } from '../support/events.js';
import { until } from '../support/waiting.mjs';

/** Every bug of the locks and the seats that was found after their code had landed. The names of the tests say what went wrong. */

const AUTH = { scheme: 'digest', credentials: 'alice:secret' };

describe('a semaphore', () => {
  it('let one in that only tried, by the number of seats from before they became fewer', async () => {
    const path = uniquePath('bug');
    const [first, second] = [await openSession(), await openSession()];
    const holder = new Semaphore(first, path, 2);
    const hold = await holder.acquire();
    const create = second.createSequential.bind(second);
    vi.spyOn(second, 'createSequential').mockImplementationOnce(async (...args) => {
      await holder.resize(1);
      return await create(...args);
    });
    expect(await new Semaphore(second, path, 2).tryAcquire()).toBeUndefined();
    expect(hold.isHeld()).toBe(true);
    await until(async () => (await first.getChildren(path)).length === 1, 'the end of its node');
  });

  it('could not be given up in time while no server was in reach', async () => {
    const { proxy, session } = await openProxied({ auth: AUTH });
    await eventAfter(session, 'suspended', () => proxy.cut());
    const semaphore = new Semaphore(session, uniquePath('bug'), 2);
    await expect(semaphore.acquire({ timeoutMs: 100 })).rejects.toBeInstanceOf(LockTimeoutError);
    expect(await semaphore.tryAcquire()).toBeUndefined();
    const giveUp = new AbortController();
    const waiting = semaphore.acquire({ signal: giveUp.signal });
    giveUp.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  }, 10_000);

  it('that was given up while no server was in reach left a watch at the next one', async () => {
    const { proxy, session, path } = await openProxied();
    const semaphore = new Semaphore(session, path, 2);
    await semaphore.seats();
    await eventAfter(session, 'suspended', () => proxy.cut());
    await expect(semaphore.acquire({ timeoutMs: 50 })).rejects.toBeInstanceOf(LockTimeoutError);
    await eventAfter(session, 'resumed', () => proxy.restore());
    await session.getChildren(path); // Answered after the requests that were held back.
    await session.getChildren(path); // Answered after the consequences of those requests.
    expect(await fourLetterWord(inject('port') as number, 'wchp')).not.toContain(path);
  });
});

describe('a call that was given up', () => {
  it('took a place in the queue again when its creation had been lost, and left it only then', async () => {
    const { session, path } = await openWithPath('bug');
    await session.ensurePath(path);
    const giveUp = new AbortController();
    const create = vi.spyOn(session, 'createSequential').mockImplementationOnce(() => {
      giveUp.abort(new Error('enough'));
      return Promise.reject(new ConnectionLossError('lost on its way there'));
    });
    const lock = new DistributedLock(session, path);
    await expect(lock.acquire({ signal: giveUp.signal })).rejects.toThrow('enough');
    expect(create).toHaveBeenCalledTimes(1);
    const hold = await lock.acquire();
    expect((await lock.contenders())[0]?.sequence).toBe(0);
    await hold.release();
  });

  it('still looks for the node that it may have, and leaves it', async () => {
    const { session, path } = await openWithPath('bug');
    await session.ensurePath(path);
    const giveUp = new AbortController();
    const create = session.createSequential.bind(session);
    vi.spyOn(session, 'createSequential').mockImplementationOnce(async (...args) => {
      await create(...args);
      giveUp.abort(new Error('enough'));
      throw new ConnectionLossError('lost on its way back');
    });
    const lock = new DistributedLock(session, path);
    await expect(lock.acquire({ signal: giveUp.signal })).rejects.toThrow('enough');
    await until(async () => (await session.getChildren(path)).length === 0, 'the deletion');
  });
});

it('a candidate that was stopped took a place in the queue again when its creation had been lost, and left it only then', async () => {
  const { session, path } = await openWithPath('bug');
  const leader = new LeaderElector(await openSession(), path);
  await leader.start(); // Without another candidate, the elector would claim as it joins.
  const elector = new LeaderElector(session, path);
  const create = vi.spyOn(session, 'commit').mockImplementationOnce(() => {
    void elector.stop();
    return Promise.reject(new ConnectionLossError('lost on its way there'));
  });
  await expect(elector.start()).rejects.toMatchObject({ code: 'INVALID_STATE' });
  await elector.stop();
  const joins = create.mock.calls.filter(([parts]) => parts.some(({ path: node }) => node.includes('/_h_')));
  expect(joins).toHaveLength(1);
  await leader.stop();
});

describe('a write lock', () => {
  it('that was lost reported a read lock that it never had to the work that asked for it again', async () => {
    const session = await openSession();
    const { writeLock } = new ReadWriteLock(session, uniquePath('bug'));
    await writeLock.using(async (hold) => {
      await session.remove(hold.path);
      await aborted(hold.signal);
      await expect(writeLock.acquire()).rejects.toBeInstanceOf(LockLostError);
    });
  });

  it('let readers in beside itself when its data happened to be the mark of a downgraded one', async () => {
    const session = await openSession();
    for (const data of ['__READ__', Buffer.from('__REVOKE__')]) {
      expect(() => new ReadWriteLock(session, '/bug', { data })).toThrow(InvalidOptionError);
      expect(() => new DistributedLock(session, '/bug', { data })).toThrow(InvalidOptionError);
    }
  });
});

it('a write lock that is downgraded never heard of a request for it that came right before, and the asker waited for ever', async () => {
  const path = uniquePath('bug');
  const [session, other] = [await openSession(), await openSession()];
  const asked = deferred<LockHold>();
  const table = new ReadWriteLock(session, path, { onRevoke: asked.resolve });
  const hold = await table.writeLock.acquire();
  await session.getChildren(path); // Answered after the read of the node.
  const written = deferred();
  const setData = session.setData.bind(session);
  vi.spyOn(session, 'setData').mockImplementationOnce(async (...args) => {
    await other.setData(hold.path, Buffer.from('__REVOKE__'));
    return await setData(...args).finally(() => written.resolve());
  });
  // The notification of the request for the lock takes longer than the write.
  const getData = session.getData.bind(session);
  vi.spyOn(session, 'getData').mockImplementation(async (...args) => {
    if (args[1]?.onChange !== undefined) await written.promise;
    return await getData(...args);
  });
  const reading = await table.downgrade(hold);
  await asked.promise;
  await reading.release();
}, 10_000);

it('a hold counted a hold twice that was released by the code that heard of its release, and so gave up the hold around it', async () => {
  const session = await openSession();
  const lock = new DistributedLock(session, uniquePath('bug'));
  await lock.using(async (outer) => {
    const inner = await lock.acquire();
    const middle = await lock.acquire();
    inner.signal.addEventListener('abort', () => void inner.release());
    await inner.release();
    await middle.release();
    expect(outer.isHeld()).toBe(true);
    expect(await session.exists(outer.path)).toBeDefined();
  });
});
