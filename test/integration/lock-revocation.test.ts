import { describe, expect, it } from 'vitest';
import { InvalidOptionError, LockTimeoutError, SessionClosedError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import type { LockHold } from '../../src/lock/lock-hold.js';
import { ReadWriteLock } from '../../src/lock/read-write-lock.js';
import { REVOKE } from '../../src/lock/reentrant-grant.js';
import { enqueue } from '../support/conclave/enqueue.js';
import { openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { until } from '../support/waiting.mjs';

describe('asking for a lock that another session holds', () => {
  it('reaches the holder, which releases when it likes, and resolves when that has happened', async () => {
    const path = uniquePath('lock');
    const [one, two] = [await openSession(), await openSession()];
    const asked: LockHold[] = [];
    const holder = new DistributedLock(one, path, {
      data: 'worker-1',
      onRevoke: (hold) => {
        asked.push(hold);
        void hold.release();
      },
    });
    const hold = await holder.acquire();
    expect((await two.getData(hold.path)).data.toString()).toBe('worker-1');
    const revoked = await new DistributedLock(two, path).revoke({ timeoutMs: 5000 });
    expect(asked).toEqual([hold]);
    expect(hold.path.endsWith(`/${revoked?.node}`)).toBe(true);
    expect(hold.isHeld()).toBe(false);
  });

  it('finds no holder where there is none', async () => {
    expect(await new DistributedLock(await openSession(), uniquePath('lock')).revoke()).toBeUndefined();
  });

  it('changes nothing for a holder that does not heed it, and gives up in time, or by a signal', async () => {
    const path = uniquePath('lock');
    const [one, two] = [await openSession(), await openSession()];
    const hold = await new DistributedLock(one, path).acquire();
    const waiter = new DistributedLock(two, path);
    const error = await waiter.revoke({ timeoutMs: 50 }).catch((each: unknown) => each);
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(String(error)).toContain('was not given up within 50 ms');
    const abort = new AbortController();
    const waiting = waiter.revoke({ signal: abort.signal });
    abort.abort('enough');
    await expect(waiting).rejects.toBe('enough');
    expect(hold.isHeld()).toBe(true);
    await hold.release();
  });

  it('waits no longer than its session lasts', async () => {
    const path = uniquePath('lock');
    const [one, two] = [await openSession(), await openSession()];
    const hold = await new DistributedLock(one, path).acquire();
    const revoked = new DistributedLock(two, path).revoke().catch((each: unknown) => each);
    await until(async () => (await one.getData(hold.path)).data.equals(REVOKE));
    await two.getData(hold.path); // Answered after the request's own look at the node. From now on it only waits.
    await two.close();
    expect(await revoked).toBeInstanceOf(SessionClosedError);
  });

  it('counts for a contender that was asked while it waited, as soon as it holds', async () => {
    const path = uniquePath('lock');
    const [one, two, three] = [await openSession(), await openSession(), await openSession()];
    const first = await new DistributedLock(one, path).acquire();
    const heeding = new DistributedLock(two, path, { onRevoke: (hold) => hold.release() as never });
    const second = await enqueue(heeding);
    const waiter = new DistributedLock(three, path);
    const node = (await waiter.contenders())[1]?.node as string;
    const revoked = waiter.revoke({ node, timeoutMs: 5000 });
    await first.release();
    expect((await revoked)?.node).toBe(node);
    expect((await second.hold).isHeld()).toBe(false);
  });

  it('reports what the holder’s answer throws, and nothing else comes of it', async () => {
    const { session, path } = await openWithPath('lock');
    const onRevoke = () => {
      throw new Error('not now');
    };
    const hold = await new DistributedLock(session, path, { onRevoke }).acquire();
    const reported = nextEvent<[Error]>(session, 'error');
    const waiter = new DistributedLock(await openSession(), path);
    await expect(waiter.revoke({ timeoutMs: 200 })).rejects.toBeInstanceOf(LockTimeoutError);
    expect((await reported)[0]).toMatchObject({ code: 'LISTENER_FAILED', event: 'onRevoke' });
    expect(hold.isHeld()).toBe(true);
    await hold.release();
  });

  it('keeps a downgraded write lock open for readers', async () => {
    const path = uniquePath('rw');
    const [one, two] = [await openSession(), await openSession()];
    const lock = new ReadWriteLock(one, path);
    const reading = await lock.downgrade(await lock.writeLock.acquire());
    const other = new ReadWriteLock(two, path);
    await expect(other.readLock.revoke({ timeoutMs: 50 })).rejects.toBeInstanceOf(LockTimeoutError);
    const beside = await other.readLock.acquire({ timeoutMs: 5000 });
    await Promise.all([beside.release(), reading.release()]);
  });

  it.each([
    ['node', ''],
    ['node', 'a/b'],
    ['node', null],
    ['timeoutMs', -1],
    ['signal', 5],
  ])('refuses %s %j', async (option, value) => {
    const lock = new DistributedLock(await openSession(), uniquePath('lock'));
    await expect(lock.revoke({ [option]: value })).rejects.toBeInstanceOf(InvalidOptionError);
  });
});

describe('the options of a lock', () => {
  it.each([
    ['data', 5],
    ['data', 'x'.repeat(16 * 1024 + 1)],
    ['access', 'nobody'],
    ['access', []],
    ['access', [{ scheme: 'world', id: 'anyone', permissions: 32 }]],
    ['access', [{ scheme: '', id: 'anyone', permissions: 1 }]],
    ['extraLockPatterns', '__lock__'],
    ['extraLockPatterns', ['']],
    ['extraLockPatterns', ['lock-1']],
    ['extraLockPatterns', ['a/b']],
    ['onRevoke', 'release'],
    ['reentrant', true],
  ])('refuse %s %j', async (option, value) => {
    const session = await openSession();
    const make = () => new DistributedLock(session, '/lock', { [option]: value });
    expect(make).toThrow(InvalidOptionError);
    expect(make).toThrow(option);
  });

  it('say who may touch its nodes', async () => {
    const { session, path } = await openWithPath('lock');
    const access = [
      { scheme: 'world', id: 'anyone', permissions: 1 + 4 + 8 },
      { scheme: 'ip', id: '127.0.0.1', permissions: 31 },
    ];
    const hold = await new DistributedLock(session, path, { access }).acquire();
    for (const node of [path, hold.path]) expect(await session.getAcl(node)).toEqual(access);
    await hold.release();
  });

  it('let names of other clients count as contenders', async () => {
    const { session, path } = await openWithPath('lock');
    await session.ensurePath(path);
    const foreign = await session.create(`${path}/0123456789abcdef__lock__`, {
      mode: 'ephemeral-sequential',
    });
    const heeding = new DistributedLock(session, path, { extraLockPatterns: ['__lock__'] });
    expect(await heeding.tryAcquire()).toBeUndefined();
    const waiter = await enqueue(heeding);
    expect((await heeding.contenders()).map(({ id, position }) => [id.slice(0, 4), position])[0]).toEqual([
      '0123',
      0,
    ]);
    await session.remove(foreign.value);
    await (await waiter.hold).release();
  });
});

it('the contenders of a lock are listed in the order of the queue', async () => {
  const { session, path } = await openWithPath('lock');
  const lock = new DistributedLock(session, path);
  expect(await lock.contenders()).toEqual([]);
  const hold = await lock.acquire();
  const waiters = [await enqueue(lock), await enqueue(lock)];
  const listed = await lock.contenders();
  expect(listed.map(({ position }) => position)).toEqual([0, 1, 2]);
  expect(listed.map(({ sequence }) => sequence)).toEqual([0, 1, 2]);
  expect(`${path}/${listed[0]?.node}`).toBe(hold.path);
  for (const { id, node, purpose } of listed) expect([node.includes(id), purpose]).toEqual([true, 'lock']);
  await hold.release();
  for (const waiter of waiters) await (await waiter.hold).release();
  expect(await lock.contenders()).toEqual([]);
});
