import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { InvalidOptionError, LockTimeoutError, SeatsMismatchError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import type { LockHold } from '../../src/lock/lock-hold.js';
import { Semaphore } from '../../src/lock/semaphore.js';
import { enqueue } from '../support/conclave/enqueue.js';
import { connectString, openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';

/** As many as the test asks for. */
type Semaphores = [Semaphore, Semaphore, Semaphore, Semaphore, Semaphore, ...Semaphore[]];

async function makeSemaphores(count: number, seats: number) {
  const path = uniquePath('semaphore');
  const sessions = await Promise.all(Array.from({ length: count }, () => openSession()));
  return {
    path,
    session: sessions[0] as (typeof sessions)[0],
    semaphores: sessions.map((each) => new Semaphore(each, path, seats)) as Semaphores,
  };
}

describe('a semaphore', () => {
  it('is held by as many as there are seats, never by more, and by all in the end', async () => {
    const { semaphores, session, path } = await makeSemaphores(8, 3);
    let inside = 0;
    const counts: number[] = [];
    const work = async () => {
      counts.push(++inside);
      await pause(3);
      inside--;
    };
    const rounds = semaphores.map(async (semaphore) => {
      for (let round = 0; round < 5; round++) await semaphore.using(work);
    });
    await Promise.all(rounds);
    expect(counts).toHaveLength(40);
    expect(Math.max(...counts)).toBe(3);
    expect(await session.getChildren(path)).toEqual([]);
  });

  it.each([0, 1, 2])(
    'lets the next one in when the holder at place %i leaves, whichever that is',
    async (leaving) => {
      const { semaphores, session, path } = await makeSemaphores(5, 3);
      const holds: LockHold[] = [];
      for (const semaphore of semaphores.slice(0, 3)) holds.push(await semaphore.acquire());
      const next = await enqueue(semaphores[3]);
      const last = await enqueue(semaphores[4]);
      expect([next.position, last.position]).toEqual([1, 2]);
      await holds[leaving]?.release();
      const hold = await next.hold;
      await session.getChildren(path);
      expect(last.held()).toBe(false);
      // The last contender gets in, too, whichever remaining holder releases next.
      await holds[(leaving + 1) % 3]?.release();
      await (await last.hold).release();
      await Promise.all([hold.release(), holds[(leaving + 2) % 3]?.release()]);
    },
  );

  it('passes over those that give up waiting', async () => {
    const { semaphores } = await makeSemaphores(4, 2);
    const holds = [await semaphores[0].acquire(), await semaphores[1].acquire()];
    const impatient = semaphores[2].acquire({ timeoutMs: 100 });
    const rejected = expect(impatient).rejects.toBeInstanceOf(LockTimeoutError);
    const patient = await enqueue(semaphores[3]);
    await rejected;
    expect(patient.held()).toBe(false);
    await holds[1]?.release();
    await (await patient.hold).release();
    await holds[0]?.release();
  });

  it('refuses a client that was given another number of seats, and names both', async () => {
    const { session, path, semaphores } = await makeSemaphores(1, 3);
    await semaphores[0].using(() => 1);
    const wrong = new Semaphore(session, path, 5);
    const error = await wrong.acquire().catch((each: unknown) => each);
    expect(error).toBeInstanceOf(SeatsMismatchError);
    expect(error).toMatchObject({ path, given: 5, agreed: 3, code: 'SEATS_MISMATCH' });
    expect(String(error)).toMatch(/has 3 seats.*given 5/);
    await expect(wrong.tryAcquire()).rejects.toBeInstanceOf(SeatsMismatchError);
    await expect(wrong.seats()).rejects.toBeInstanceOf(SeatsMismatchError);
    await expect(wrong.resize(4)).rejects.toBeInstanceOf(SeatsMismatchError);
    expect(await session.getChildren(path)).toEqual([]);
  });

  it('does not join on a path where something else is written, as in an election', async () => {
    const { session, path } = await openWithPath('semaphore');
    await session.create(path, { data: Buffer.from('{"format":1,"state":"vacant","term":4}') });
    const error = await new Semaphore(session, path, 2).acquire().catch((each: unknown) => each);
    expect(error).toMatchObject({ given: 2, agreed: undefined });
    expect((await session.getData(path)).data.toString()).toContain('vacant');
  });

  it('lets all in that wait when it gets more seats, also in processes that knew the old number', async () => {
    const { semaphores, session, path } = await makeSemaphores(5, 1);
    const first = await semaphores[0].acquire();
    const waiting = [];
    for (const semaphore of semaphores.slice(1)) waiting.push(await enqueue(semaphore));
    await new Semaphore(session, path, 1).resize(4);
    const holds = await Promise.all(waiting.slice(0, 3).map(({ hold }) => hold));
    await session.getChildren(path);
    expect(waiting[3]?.held()).toBe(false);
    expect(await semaphores[4].seats()).toBe(4);
    await expect(new Semaphore(session, path, 1).seats()).rejects.toMatchObject({ given: 1, agreed: 4 });
    await first.release();
    await (await (waiting[3] as (typeof waiting)[0]).hold).release();
    await Promise.all(holds.map((hold) => hold.release()));
  });

  it('lets no contender in after it got fewer seats, until enough have left; those that hold go on', async () => {
    const { semaphores, session, path } = await makeSemaphores(4, 3);
    const holds = [];
    for (const semaphore of semaphores.slice(0, 3)) holds.push(await semaphore.acquire());
    await semaphores[3].seats(); // It has learned the old number.
    await semaphores[0].resize(1);
    expect(holds.every((hold) => hold.isHeld())).toBe(true);
    const late = await enqueue(semaphores[3]);
    expect(late.position).toBe(3);
    await holds[1]?.release();
    await holds[0]?.release();
    await session.getChildren(path);
    expect(late.held()).toBe(false);
    await holds[2]?.release();
    await (await late.hold).release();
  });

  it('agrees on one number when many come first at once, and all others are refused', async () => {
    const { session, path } = await openWithPath('semaphore');
    const results = await Promise.allSettled(
      [2, 3, 2, 3, 2, 3].map((seats) => new Semaphore(session, path, seats).seats()),
    );
    const agreed = results.filter((each) => each.status === 'fulfilled').map(({ value }) => value);
    expect(new Set(agreed).size).toBe(1);
    expect(agreed).toHaveLength(3);
  });

  it.each([0, -1, 1.5, Number.NaN, '3', null, undefined, 10_001])(
    'refuses %j for a number of seats',
    async (seats) => {
      const session = await openSession();
      expect(() => new Semaphore(session, '/s', seats as number)).toThrow(InvalidOptionError);
    },
  );

  it('with one seat is a lock', async () => {
    const { semaphores, session, path } = await makeSemaphores(1, 1);
    const hold = await semaphores[0].acquire();
    expect(await new DistributedLock(session, path).tryAcquire()).toBeUndefined();
    await hold.release();
  });

  it('is created for the creator only where access says so', async () => {
    const session = await openSession(
      { auth: { scheme: 'digest', credentials: 'alice:secret' }, access: 'world' },
      connectString(),
    );
    const path = uniquePath('semaphore');
    const hold = await new Semaphore(session, path, 2, { access: 'creator' }).acquire();
    for (const node of [path, hold.path])
      expect((await session.getAcl(node)).map(({ scheme, permissions }) => [scheme, permissions])).toEqual([
        ['digest', 31],
      ]);
    await hold.release();
  });
});

it('refuses an election at its path, whose candidates would overwrite its number of seats', async () => {
  const { session, path } = await openWithPath('semaphore');
  const semaphore = new Semaphore(session, path, 2);
  expect(await semaphore.seats()).toBe(2);
  const elector = new LeaderElector(await openSession(), path);
  await expect(elector.start()).rejects.toMatchObject({
    code: 'INVALID_STATE',
    message: expect.stringContaining('is the path of a semaphore'),
  });
  await elector.stop();
  expect(await semaphore.using(() => semaphore.seats())).toBe(2);
});
