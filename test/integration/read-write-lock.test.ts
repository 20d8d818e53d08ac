import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { InvalidOptionError, InvalidStateError, LockLostError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import type { LockHold } from '../../src/lock/lock-hold.js';
import { ReadWriteLock } from '../../src/lock/read-write-lock.js';
import { Semaphore } from '../../src/lock/semaphore.js';
import { deferred } from '../../src/platform/async/promises.js';
import type { QueuePosition } from '../../src/queue/turn-wait.js';
import type { Session } from '../../src/session/session.js';
import { enqueue } from '../support/conclave/enqueue.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';

/** As many as the test asks for. */
type Locks = [ReadWriteLock, ReadWriteLock, ReadWriteLock, ReadWriteLock, ReadWriteLock];

async function makeLocks(count: number) {
  const path = uniquePath('rw');
  const sessions = await Promise.all(Array.from({ length: count }, () => openSession()));
  return {
    path,
    session: sessions[0] as (typeof sessions)[0],
    locks: sessions.map((each) => new ReadWriteLock(each, path)) as Locks,
  };
}

describe('a read-write lock', () => {
  it('is held by many readers at once, by a writer alone, and no later contender overtakes', async () => {
    const { locks, session, path } = await makeLocks(5);
    const [r1, r2, w1, r3, r4] = locks;
    const first = await (await enqueue(r1.readLock)).hold;
    const second = await (await enqueue(r2.readLock)).hold;
    const writer = await enqueue(w1.writeLock);
    const third = await enqueue(r3.readLock);
    const fourth = await enqueue(r4.readLock);
    expect([first.isHeld(), second.isHeld()]).toEqual([true, true]);
    expect([writer.held(), third.held(), fourth.held()]).toEqual([false, false, false]);
    const purposes = (await r1.readLock.contenders()).map(({ purpose }) => purpose);
    expect(purposes).toEqual(['read', 'read', 'write', 'read', 'read']);
    await second.release();
    await session.getChildren(path);
    expect(writer.held()).toBe(false); // The first reader still holds, though it isn't the writer's predecessor.
    await first.release();
    const writing = await writer.hold;
    expect([third.held(), fourth.held()]).toEqual([false, false]);
    await writing.release();
    await Promise.all([(await third.hold).release(), (await fourth.hold).release()]);
    expect(await session.getChildren(path)).toEqual([]);
  });

  it('keeps a counter right that writers write and readers read, whatever their mixture', async () => {
    const { locks } = await makeLocks(6);
    let value = 0;
    let writers = 0;
    let readers = 0;
    const write = () => async () => {
      expect([++writers, readers]).toEqual([1, 0]);
      const seen = value;
      await pause(1);
      value = seen + 1;
      writers--;
    };
    const read = () => async () => {
      readers++;
      expect(writers).toBe(0);
      await pause(1);
      readers--;
    };
    const rounds = locks.map(async ({ readLock, writeLock }, index) => {
      for (let round = 0; round < 10; round++)
        await ((round + index) % 3 === 0 ? writeLock.using(write()) : readLock.using(read()));
    });
    await Promise.all(rounds);
    expect(value).toBe(20);
  });

  it('may be read by the work that writes: it holds the lock already', async () => {
    const { locks, session, path } = await makeLocks(1);
    const [{ readLock, writeLock }] = locks;
    await writeLock.using(async (writing) => {
      await readLock.using(async (reading) => {
        expect(reading.token).toBe(writing.token);
        expect(await session.getChildren(path)).toHaveLength(1);
        await writeLock.using((again) => expect(again.isHeld()).toBe(true)); // No upgrade: the caller still holds the write lock.
      });
    });
    expect(await session.getChildren(path)).toEqual([]);
  });

  it('is kept by a reader that the writing work leaves behind: readers get in, writers do not', async () => {
    const { locks, session, path } = await makeLocks(4);
    const [own, reader, writer, late] = locks;
    let behind!: Awaited<ReturnType<typeof enqueue>>;
    const kept = await own.writeLock.using(async () => {
      behind = await enqueue(reader.readLock);
      expect(behind.held()).toBe(false);
      return await own.readLock.acquire();
    });
    await (await behind.hold).release();
    const waiting = await enqueue(writer.writeLock);
    expect(kept.isHeld()).toBe(true);
    await session.getChildren(path);
    expect(waiting.held()).toBe(false);
    expect(await late.readLock.tryAcquire()).toBeUndefined(); // A writer waits.
    await kept.release();
    await (await waiting.hold).release();
  });

  it('is downgraded with no writer in between, though a writer waits right behind', async () => {
    const { locks, session, path } = await makeLocks(4);
    const [own, writer, reader, late] = locks;
    const writing = await own.writeLock.acquire();
    const early = await enqueue(late.readLock);
    const waiting = await enqueue(writer.writeLock);
    const behind = await enqueue(reader.readLock);
    const reading = await own.downgrade(writing);
    expect([writing.isHeld(), reading.isHeld(), reading.token]).toEqual([false, true, writing.token]);
    const beside = await early.hold; // This reader came before the waiting writer.
    await session.getChildren(path);
    expect([waiting.held(), behind.held()]).toEqual([false, false]);
    await beside.release();
    await reading.release();
    await (await waiting.hold).release();
    await (await behind.hold).release();
    expect(await session.getChildren(path)).toEqual([]);
  });

  it('lets readers in at once that come after a downgrade, waiting or not', async () => {
    const { locks } = await makeLocks(3);
    const [own, one, other] = locks;
    const reading = await own.downgrade(await own.writeLock.acquire());
    const tried = await one.readLock.tryAcquire();
    const waited = await other.readLock.acquire({ timeoutMs: 5000 });
    expect([reading.isHeld(), tried?.isHeld(), waited.isHeld()]).toEqual([true, true, true]);
    expect(await one.writeLock.tryAcquire()).toBeUndefined();
    await Promise.all([reading.release(), tried?.release(), waited.release()]);
  });

  it('can not be upgraded, and says so at once instead of waiting for itself', async () => {
    const { locks } = await makeLocks(1);
    const [{ readLock, writeLock }] = locks;
    await readLock.using(async () => {
      await expect(writeLock.acquire()).rejects.toBeInstanceOf(InvalidStateError);
      await expect(writeLock.tryAcquire()).rejects.toBeInstanceOf(InvalidStateError);
      await expect(writeLock.using(() => 1)).rejects.toThrow("can't be upgraded to a write lock");
    });
    await writeLock.using(() => 1);
  });

  it('can not be upgraded again once it was downgraded', async () => {
    const { locks } = await makeLocks(1);
    const [lock] = locks;
    await lock.writeLock.using(async (writing) => {
      const reading = await lock.downgrade(writing);
      await expect(lock.writeLock.acquire()).rejects.toBeInstanceOf(InvalidStateError);
      await reading.release();
    });
  });

  it('downgrades only what is a held hold of its own write lock', async () => {
    const { locks, session } = await makeLocks(1);
    const [lock] = locks;
    const reading = await lock.readLock.acquire();
    await expect(lock.downgrade(reading)).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(lock.downgrade({} as LockHold)).rejects.toBeInstanceOf(InvalidOptionError);
    await reading.release();
    // A plain lock on the same path isn't this lock, and neither is another object for that path.
    for (const other of [
      new DistributedLock(session, lock.path),
      new ReadWriteLock(session, lock.path).writeLock,
    ]) {
      const foreign = await other.acquire();
      await expect(lock.downgrade(foreign)).rejects.toBeInstanceOf(InvalidOptionError);
      await foreign.release();
    }
    const writing = await lock.writeLock.acquire();
    await writing.release();
    await expect(lock.downgrade(writing)).rejects.toBeInstanceOf(LockLostError);
  });

  it('takes a plain lock on its path for a writer', async () => {
    const { locks, session, path } = await makeLocks(1);
    const [{ readLock }] = locks;
    const plain = new DistributedLock(session, path);
    const hold = await plain.acquire();
    expect(await readLock.tryAcquire()).toBeUndefined();
    await hold.release();
    const reading = await readLock.acquire();
    expect(await plain.tryAcquire()).toBeUndefined();
    await reading.release();
  });
});

/** As Curator 5.5 and later do it: a writer that goes on to read makes a reader's node with its own number, and leaves. */
async function curatorWriter(path: string) {
  const session = await openSession();
  await session.ensurePath(path);
  const prefix = (purpose: string) => `${path}/_c_${randomUUID()}-__${purpose}__`;
  const { value: writer } = await session.create(prefix('WRIT'), { mode: 'ephemeral-sequential' });
  const reader = `${prefix('READ')}${writer.slice(-10)}`;
  return {
    reader,
    async downgrade() {
      await session.create(reader, { mode: 'ephemeral' });
      await session.remove(writer);
    },
    release: () => session.remove(reader),
  };
}

describe('a reader that was a writer and has kept its number, as in Curator 5.5', () => {
  it.each([
    ['a writer', (session: Session, path: string) => new ReadWriteLock(session, path).writeLock],
    ['a plain lock', (session: Session, path: string) => new DistributedLock(session, path)],
    ['a semaphore', (session: Session, path: string) => new Semaphore(session, path, 1)],
  ])('keeps %s waiting that waited for the writer', async (_, make) => {
    const path = uniquePath('rw');
    const theirs = await curatorWriter(path);
    const isNext = deferred();
    const waitsForReader = deferred<string>();
    const onWaiting = ({ ahead }: QueuePosition) => {
      if (theirs.reader.endsWith(ahead)) waitsForReader.resolve('waits for the reader');
      else isNext.resolve();
    };
    const waiting = make(await openSession(), path).acquire({ onWaiting });
    await isNext.promise;
    await theirs.downgrade();
    expect(await Promise.race([waitsForReader.promise, waiting])).toBe('waits for the reader');
    await theirs.release();
    await (await waiting).release();
  });

  it('is seen by a writer that only tries, also if it comes between its listing and its read', async () => {
    const path = uniquePath('rw');
    const theirs = await curatorWriter(path);
    const session = await openSession();
    const getData = session.getData.bind(session);
    let downgrading: Promise<void> | undefined;
    session.getData = async (...args) => {
      downgrading ??= theirs.downgrade();
      await downgrading;
      return await getData(...args);
    };
    expect(await new ReadWriteLock(session, path).writeLock.tryAcquire()).toBeUndefined();
    expect(downgrading).toBeDefined();
  });

  it('lets readers in at once that waited for the writer', async () => {
    const path = uniquePath('rw');
    const theirs = await curatorWriter(path);
    const reader = await enqueue(new ReadWriteLock(await openSession(), path).readLock);
    expect(reader.held()).toBe(false);
    await theirs.downgrade();
    await (await reader.hold).release();
  });
});
