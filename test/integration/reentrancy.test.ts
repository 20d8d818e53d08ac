import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LockLostError, LockTimeoutError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import type { LockHold } from '../../src/lock/lock-hold.js';
import { deferred } from '../../src/platform/async/promises.js';
import { openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { aborted } from '../support/events.js';

async function makeLock() {
  const { session, path } = await openWithPath('lock');
  return { session, path, lock: new DistributedLock(session, path) };
}

describe('work under a lock', () => {
  it('gets the lock, and gives it back when it has settled, with what it returned or threw', async () => {
    const { session, path, lock } = await makeLock();
    const result = await lock.using(async (hold) => {
      expect(hold.isHeld()).toBe(true);
      expect(await session.getChildren(path)).toHaveLength(1);
      return 42;
    });
    expect(result).toBe(42);
    const failing = lock.using(() => {
      throw new Error('the work failed');
    });
    await expect(failing).rejects.toThrow('the work failed');
    expect(await session.getChildren(path)).toEqual([]);
  });

  it('holds it once however deep it asks for it again, with one token, and gives it back at the end', async () => {
    const { session, path, lock } = await makeLock();
    const deeper = async (depth: number): Promise<bigint[]> =>
      await lock.using(async ({ token }) => (depth === 0 ? [token] : [token, ...(await deeper(depth - 1))]));
    await lock.using(async (outer) => {
      const tokens = await deeper(5);
      expect(new Set(tokens)).toEqual(new Set([outer.token]));
      expect(await session.getChildren(path)).toHaveLength(1);
      expect(outer.isHeld()).toBe(true);
      const further = await lock.acquire({ timeoutMs: 0 });
      const tried = await lock.tryAcquire();
      await further.release();
      await further.release(); // The second release of the same hold does nothing.
      expect([further.isHeld(), tried?.isHeld(), outer.isHeld()]).toEqual([false, true, true]);
      await tried?.release();
      expect(await session.getChildren(path)).toHaveLength(1);
    });
    expect(await session.getChildren(path)).toEqual([]);
  });

  it('is kept by what was begun in it and not waited for, until that has ended as well', async () => {
    const { session, path, lock } = await makeLock();
    const gate = deferred<void>();
    let inner!: Promise<void>;
    await lock.using(async () => {
      inner = lock.using(() => gate.promise);
      await Promise.resolve();
    });
    expect(await session.getChildren(path)).toHaveLength(1);
    expect(await lock.tryAcquire()).toBeUndefined();
    gate.resolve();
    await inner;
    expect(await session.getChildren(path)).toEqual([]);
  });

  it('is not entered by others who use the same lock object, at whatever moment they come', async () => {
    const { lock } = await makeLock();
    let inside = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++inside);
      await lock.using(() => pause(1));
      inside--;
    };
    await Promise.all(Array.from({ length: 10 }, () => lock.using(work)));
    expect(most).toBe(1);
  });

  it('that was begun in it and comes when it is over gets the lock anew, with a higher token', async () => {
    const { lock } = await makeLock();
    const over = deferred<void>();
    let later!: Promise<bigint>;
    const token = await lock.using(async (hold) => {
      later = over.promise.then(() => lock.using((again) => again.token));
      return await Promise.resolve(hold.token);
    });
    over.resolve();
    expect(await later).toBeGreaterThan(token);
  });

  it('finds no help in another object for the same path: that is another contender, and times out', async () => {
    const { session, path, lock } = await makeLock();
    const other = new DistributedLock(session, path);
    await lock.using(async () => {
      await expect(other.using(() => 1, { timeoutMs: 50 })).rejects.toBeInstanceOf(LockTimeoutError);
    });
  });

  it('can not ask again for a lock that is lost', async () => {
    const { session, path, lock } = await makeLock();
    const entered: unknown[] = [];
    await lock.using(async (hold) => {
      await session.remove(hold.path);
      await aborted(hold.signal);
      await expect(lock.using(() => entered.push(1))).rejects.toBeInstanceOf(LockLostError);
    });
    expect(entered).toEqual([]);
    expect(await session.getChildren(path)).toEqual([]);
    await lock.using(() => entered.push(2));
    expect(entered).toEqual([2]);
  });

  it('loses every hold of it at once', async () => {
    const { session, lock } = await makeLock();
    await lock.using(async (outer) => {
      const holds: LockHold[] = [outer, await lock.acquire(), await lock.acquire()];
      await session.remove(outer.path);
      for (const hold of holds) expect(await aborted(hold.signal)).toMatchObject({ reason: 'node-deleted' });
      expect(holds.some((hold) => hold.isHeld())).toBe(false);
    });
  });

  const waysOut = [
    { way: 'by the time-out', options: () => ({ timeoutMs: 200 }), reason: LockTimeoutError },
    { way: 'by a signal', options: () => ({ signal: AbortSignal.timeout(200) }), reason: DOMException },
  ];
  it.each(waysOut)('of two that want each other’s lock gets out $way', async ({ options, reason }) => {
    const session = await openSession();
    const a = new DistributedLock(session, uniquePath('a'));
    const b = new DistributedLock(session, uniquePath('b'));
    const both = [deferred<void>(), deferred<void>()] as const;
    const one = a.using(async () => {
      both[0].resolve();
      await both[1].promise;
      return await b.using(() => 'one', options());
    });
    const other = b.using(async () => {
      both[1].resolve();
      await both[0].promise;
      return await a.using(() => 'other');
    });
    await expect(one).rejects.toBeInstanceOf(reason);
    await expect(other).resolves.toBe('other');
  });

  it.each([undefined, null, 5, 'work'])('refuses %j for work', async (work) => {
    const { session, path, lock } = await makeLock();
    await expect(lock.using(work as never)).rejects.toMatchObject({ option: 'work', value: work });
    expect(await session.exists(path)).toBeUndefined();
  });
});
