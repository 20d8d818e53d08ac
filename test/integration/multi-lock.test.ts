import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  InvalidOptionError,
  InvalidStateError,
  LockLostError,
  LockTimeoutError,
  NoNodeError,
} from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { MultiLock } from '../../src/lock/multi-lock/multi-lock.js';
import { ReadWriteLock } from '../../src/lock/read-write-lock.js';
import { Semaphore } from '../../src/lock/semaphore.js';
import { openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { aborted } from '../support/events.js';

async function makeLocks(count: number) {
  const { session, path: base } = await openWithPath('multi');
  const paths = Array.from({ length: count }, (_, index) => `${base}/${index}`);
  const locksOf = (owner: typeof session) => paths.map((path) => new DistributedLock(owner, path));
  const left = async () =>
    (
      await Promise.all(
        paths.map(async (path) => ((await session.exists(path)) ? await session.getChildren(path) : [])),
      )
    ).flat();
  return { session, paths, locks: locksOf(session), locksOf, left };
}

describe('several locks as one', () => {
  it('are held all together, and given back all together', async () => {
    const { locks, left, session, paths } = await makeLocks(3);
    const hold = await new MultiLock(locks).acquire();
    expect(hold.isHeld()).toBe(true);
    expect(hold.remainingMs()).toBeGreaterThan(0);
    expect(hold.holds).toHaveLength(3);
    expect(hold.token).toBe(hold.holds.map(({ token }) => token).sort((a, b) => Number(b - a))[0]);
    for (const path of paths) expect(await new DistributedLock(session, path).tryAcquire()).toBeUndefined();
    await hold.release();
    expect(hold.isHeld()).toBe(false);
    expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'released' });
    expect(await left()).toEqual([]);
  });

  it('have a token that rises from one hold to the next', async () => {
    const { locks, locksOf } = await makeLocks(3);
    const other = new MultiLock(locksOf(await openSession()).reverse());
    const tokens: bigint[] = [];
    const work = ({ token }: { token: bigint }) => void tokens.push(token);
    await Promise.all([1, 2, 3].flatMap(() => [new MultiLock(locks).using(work), other.using(work)]));
    expect(tokens).toHaveLength(6);
    expect(tokens).toEqual([...tokens].sort((a, b) => Number(a - b)));
  });

  it('are taken in one order everywhere, so that no two wait for each other, whatever the order they are given in', async () => {
    const { locks, locksOf, left } = await makeLocks(4);
    const sessions = await Promise.all(Array.from({ length: 4 }, () => openSession()));
    let inside = 0;
    const rounds = sessions.map(async (session, index) => {
      const own = locksOf(session);
      const shuffled = [...own.slice(index), ...own.slice(0, index)];
      for (let round = 0; round < 5; round++) {
        await new MultiLock(index % 2 === 0 ? shuffled : shuffled.reverse()).using(async () => {
          expect(++inside).toBe(1);
          await pause(1);
          inside--;
        });
      }
    });
    await Promise.all(rounds);
    expect(locks).toHaveLength(4);
    expect(await left()).toEqual([]);
  });

  it.each(['acquire', 'tryAcquire'] as const)(
    'leave nothing behind when %s fails because one of them is held',
    async (how) => {
      const { locks, left, locksOf } = await makeLocks(3);
      const held = await (locksOf(await openSession())[1] as DistributedLock).acquire();
      const all = new MultiLock(locks);
      if (how === 'tryAcquire') expect(await all.tryAcquire()).toBeUndefined();
      else {
        const error = await all.acquire({ timeoutMs: 100 }).catch((each: unknown) => each);
        expect(error).toBeInstanceOf(LockTimeoutError);
        expect(String(error)).toContain('within 100 ms');
        await expect(all.acquire({ timeoutMs: 0 })).rejects.toBeInstanceOf(LockTimeoutError);
      }
      expect(await left()).toHaveLength(1);
      await held.release();
      await (await all.acquire({ timeoutMs: 0 })).release();
    },
  );

  it('are not held when a lock that was taken is lost while another is waited for', async () => {
    const { locks, left, session, paths } = await makeLocks(2);
    const held = await new DistributedLock(await openSession(), paths[1] as string).acquire();
    const all = new MultiLock(locks).acquire({
      onWaiting: () => {
        void session.getChildren(paths[0] as string).then(([node]) => session.remove(`${paths[0]}/${node}`));
      },
    });
    await expect(all).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'node-deleted' });
    expect(await left()).toHaveLength(1);
    await held.release();
  });

  it('are lost when one of them is; the others are held on to until they are released', async () => {
    const { locks, left, session } = await makeLocks(3);
    const hold = await new MultiLock(locks).acquire();
    await session.remove((hold.holds[1] as { path: string }).path);
    expect(await aborted(hold.signal)).toMatchObject({ reason: 'node-deleted' });
    expect([hold.isHeld(), hold.remainingMs()]).toEqual([false, 0]);
    expect(() => hold.assertHeld()).toThrow(LockLostError);
    expect(await left()).toHaveLength(2);
    await hold.release();
    expect(await left()).toEqual([]);
  });

  it('guard a transaction by all their nodes', async () => {
    const { locks, session, paths } = await makeLocks(3);
    const target = `${paths[0]}-target`;
    const hold = await new MultiLock(locks).acquire();
    await hold.transaction().create(target, 'one').commit();
    expect((await session.getData(target)).data.toString()).toBe('one');
    const late = hold.transaction().setData(target, 'two');
    const other = await openSession();
    await other.remove((hold.holds[2] as { path: string }).path);
    await expect(late.commit()).rejects.toBeInstanceOf(LockLostError);
    expect((await session.getData(target)).data.toString()).toBe('one');
    await hold.release();
  });

  it('guard no transaction together when they belong to several sessions', async () => {
    const [one, other] = [await openSession(), await openSession()];
    const locks = [new DistributedLock(one, uniquePath('a')), new DistributedLock(other, uniquePath('b'))];
    const hold = await new MultiLock(locks).acquire();
    expect(() => hold.transaction()).toThrow(InvalidStateError);
    const [single] = hold.holds;
    await expect(single?.transaction().remove('/not/there').commit()).rejects.toBeInstanceOf(NoNodeError);
    await hold.release();
  });

  it('are reentrant together and one by one, within the work', async () => {
    const { locks, left } = await makeLocks(2);
    const all = new MultiLock(locks);
    await all.using(async (outer) => {
      await all.using((inner) => expect(inner.token).toBe(outer.token));
      await locks[1]?.using((inner) => expect(inner.isHeld()).toBe(true));
      expect(outer.isHeld()).toBe(true);
    });
    expect(await left()).toEqual([]);
  });

  it('may be of different kinds, and of several such', async () => {
    const { session, path: base } = await openWithPath('multi');
    const table = new ReadWriteLock(session, `${base}/table`);
    const pool = new Semaphore(session, `${base}/pool`, 2);
    const plain = new DistributedLock(session, `${base}/plain`);
    const all = new MultiLock([pool, new MultiLock([table.readLock, plain])]);
    await all.using(async () => {
      expect(await new Semaphore(session, `${base}/pool`, 2).tryAcquire()).toBeDefined();
      expect(await new ReadWriteLock(session, `${base}/table`).readLock.tryAcquire()).toBeDefined();
      expect(await new DistributedLock(session, `${base}/plain`).tryAcquire()).toBeUndefined();
    });
  });

  it('refuse to be none, or anything else than locks, or the same path twice', async () => {
    const session = await openSession();
    const table = new ReadWriteLock(session, uniquePath('rw'));
    const both = [table.readLock, table.writeLock];
    for (const wrong of [[], null, undefined, 'lock', [{}], [null], [table], both])
      expect(() => new MultiLock(wrong as never)).toThrow(InvalidOptionError);
    const same = () => new DistributedLock(session, '/same');
    expect(() => new MultiLock([same(), new MultiLock([same()])])).toThrow(/different paths/);
  });
});
