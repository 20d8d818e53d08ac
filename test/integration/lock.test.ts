import { describe, expect, it } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { LockLostError, LockTimeoutError, NodeLostError, SessionExpiredError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { lead } from '../support/conclave/electors.js';
import { enqueue } from '../support/conclave/enqueue.js';
import {
  connectString,
  openProxied,
  openSession,
  openWithPath,
  uniquePath,
} from '../support/conclave/sessions.js';
import { aborted, eventAfter } from '../support/events.js';
import { until } from '../support/waiting.mjs';

describe('a lock', () => {
  it('has the czxid of its node for a token', async () => {
    const session = await openSession();
    const hold = await new DistributedLock(session, uniquePath('lock')).acquire();
    expect((await session.getData(hold.path)).stat.czxid).toBe(hold.token);
    await hold.release();
  });

  it('is not acquired in time, and nothing is left in the queue', async () => {
    const path = uniquePath('lock');
    const [one, two] = [await openSession(), await openSession()];
    const hold = await new DistributedLock(one, path).acquire();
    const lock = new DistributedLock(two, path);
    await expect(lock.acquire({ timeoutMs: 50 })).rejects.toBeInstanceOf(LockTimeoutError);
    await expect(lock.acquire({ timeoutMs: 0 })).rejects.toBeInstanceOf(LockTimeoutError);
    expect(await lock.tryAcquire()).toBeUndefined();
    expect(await two.getChildren(path)).toHaveLength(1); // Answered after the deletions.
    await hold.release();
    const next = await lock.tryAcquire();
    expect(next?.isHeld()).toBe(true);
    await next?.release();
    const now = await lock.acquire({ timeoutMs: 0 });
    expect(now.isHeld()).toBe(true);
    await now.release();
  });

  it('rejects with the reason of an aborted signal, whenever that aborts, and leaves nothing', async () => {
    const path = uniquePath('lock');
    const [one, two] = [await openSession(), await openSession()];
    const hold = await new DistributedLock(one, path).acquire();
    const lock = new DistributedLock(two, path);
    await expect(lock.acquire({ signal: AbortSignal.abort('before') })).rejects.toBe('before');
    const joining = new AbortController();
    const early = lock.acquire({ signal: joining.signal });
    joining.abort('while joining');
    await expect(early).rejects.toBe('while joining');
    const waiting = new AbortController();
    const late = lock.acquire({ signal: waiting.signal, onWaiting: () => waiting.abort('while waiting') });
    await expect(late).rejects.toBe('while waiting');
    await until(async () => (await one.getChildren(path)).length === 1, 'the deletions');
    await hold.release();
  });

  it.each([
    ['timeoutMs', null],
    ['timeoutMs', -1],
    ['timeoutMs', Number.NaN],
    ['signal', null],
    ['onWaiting', 5],
  ])('refuses to be acquired with %s %j', async (option, value) => {
    const lock = new DistributedLock(await openSession(), uniquePath('lock'));
    await expect(lock.acquire({ [option]: value })).rejects.toMatchObject({ option, value });
  });

  it('refuses to be acquired with an option that it does not have, whose value may be a secret', async () => {
    const lock = new DistributedLock(await openSession(), uniquePath('lock'));
    const error = await lock.acquire({ timeout: 5 } as object).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ option: 'acquire.timeout', value: 'an unknown option' });
  });

  it('and all else can be disposed of', async () => {
    const { session: observer, path } = await openWithPath('lock');
    const session = await openSession();
    const hold = await new DistributedLock(session, path).acquire();
    await hold[Symbol.asyncDispose]();
    expect(await observer.getChildren(path)).toEqual([]);
    const elector = new LeaderElector(session, path);
    await elector.start();
    await elector[Symbol.asyncDispose]();
    expect(await observer.getChildren(path)).toEqual([]);
    const supervisor = new ElectionSupervisor({ connect: connectString(), path });
    await supervisor.start();
    await supervisor[Symbol.asyncDispose]();
    await session[Symbol.asyncDispose]();
    const ends = [elector.state.name, session.state.name, supervisor.health().live];
    expect(ends).toEqual(['stopped', 'closed', false]);
    expect(await observer.getChildren(path)).toEqual([]);
  });

  it('rejects with what onWaiting throws, and leaves nothing', async () => {
    const path = uniquePath('lock');
    const [one, two] = [await openSession(), await openSession()];
    const hold = await new DistributedLock(one, path).acquire();
    const onWaiting = () => {
      throw new Error('cannot wait');
    };
    await expect(new DistributedLock(two, path).acquire({ onWaiting })).rejects.toThrow('cannot wait');
    await until(async () => (await one.getChildren(path)).length === 1, 'the deletion of the place');
    await hold.release();
  });

  it('is lost, and says so, when another client deletes its node', async () => {
    const session = await openSession();
    const other = await openSession();
    const hold = await new DistributedLock(session, uniquePath('lock')).acquire();
    await other.remove(hold.path);
    expect(await aborted(hold.signal)).toMatchObject({ code: 'LOCK_LOST', reason: 'node-deleted' });
    expect(() => hold.assertHeld()).toThrow(LockLostError);
    expect(hold.remainingMs()).toBe(0);
    await hold.release();
  });

  it('is not acquired by a contender whose node was deleted while it waited', async () => {
    const path = uniquePath('lock');
    const [one, two] = [await openSession(), await openSession()];
    const hold = await new DistributedLock(one, path).acquire();
    const waiter = await enqueue(new DistributedLock(two, path));
    const lost = expect(waiter.hold).rejects.toBeInstanceOf(NodeLostError);
    const nodes = await one.getChildren(path);
    const waiting = nodes.find((node) => !hold.path.endsWith(node));
    await one.remove(`${path}/${waiting}`);
    await lost;
    await hold.release();
  });

  it('is not acquired by one whose node was deleted as soon as it had joined, when the one ahead leaves', async () => {
    const path = uniquePath('lock');
    const [a, b, c] = [await openSession(), await openSession(), await openSession()];
    const first = await new DistributedLock(a, path).acquire();
    const second = await enqueue(new DistributedLock(b, path));
    const third = await enqueue(new DistributedLock(c, path));
    const lost = expect(second.hold).rejects.toBeInstanceOf(NodeLostError);
    const waiting = (await new DistributedLock(c, path).contenders())[1]?.node;
    // In one transaction, so that the contender can't notice anything between the two writes.
    await c.commit([
      { kind: 'delete', path: `${path}/${waiting}` },
      { kind: 'delete', path: first.path },
    ]);
    await lost;
    await (await third.hold).release();
  });

  it('is over when its lease is, although the connection was only lost, and is given up afterwards', async () => {
    const { proxy, session } = await openProxied({ sessionTimeoutMs: 10_000, leaseMs: 400 });
    const { session: other, path } = await openWithPath('lock');
    const hold = await new DistributedLock(session, path).acquire();
    proxy.cut();
    expect(await aborted(hold.signal)).toMatchObject({ reason: 'lease-expired' });
    expect(await other.getChildren(path)).toHaveLength(1);
    proxy.restore();
    await until(async () => (await other.getChildren(path)).length === 0);
  });

  it('rejects those that wait when the session expires, and ends what is held', async () => {
    const { proxy, session } = await openProxied({ sessionTimeoutMs: 800 });
    const { session: other, path } = await openWithPath('lock');
    const hold = await new DistributedLock(session, path).acquire();
    const waiter = await enqueue(new DistributedLock(session, path));
    const rejected = expect(waiter.hold).rejects.toBeInstanceOf(SessionExpiredError);
    proxy.cut();
    await until(async () => (await other.getChildren(path)).length === 0, 'the expiry');
    expect(hold.isHeld()).toBe(false);
    proxy.restore();
    await rejected;
  });

  it('that is released while disconnected is given up as soon as the session is back (CURATOR-202, kazoo #732)', async () => {
    const { proxy, session } = await openProxied({ sessionTimeoutMs: 30_000, leaseMs: 300 });
    const { session: other, path } = await openWithPath('lock');
    const hold = await new DistributedLock(session, path).acquire();
    const next = await enqueue(new DistributedLock(other, path));
    await eventAfter(session, 'suspended', () => proxy.cut());
    await hold.release();
    proxy.restore();
    await (await next.hold).release();
  });
});

describe('joining the queue', () => {
  it('lets a hundred use one session without a warning of leaks', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on('warning', onWarning);
    const { session, path } = await openWithPath('lock');
    const holds = await Promise.all(
      Array.from({ length: 100 }, (_, index) => new DistributedLock(session, `${path}/${index}`).acquire()),
    );
    expect(holds.every((hold) => hold.isHeld())).toBe(true);
    await Promise.all(holds.map((hold) => hold.release()));
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  it('has a path that may be deleted at any time: not while it has a contender, and the next one makes it again', async () => {
    const { session, path } = await openWithPath('lock');
    const lock = new DistributedLock(session, path);
    const hold = await lock.acquire();
    await expect(session.remove(path)).rejects.toMatchObject({ code: 'NOT_EMPTY' });
    await hold.release();
    let { token } = hold;
    for (const owner of [session, await openSession()]) {
      await session.remove(path);
      const next = await new DistributedLock(owner, path).acquire();
      expect(next.token > token).toBe(true);
      ({ token } = next);
      await next.release();
    }
  });
});

it('a session on which locks were taken and candidates joined has no listener left for its end', async () => {
  const [session, other] = [await openSession(), await openSession()];
  const before = session.ended.listenerCount;
  const path = uniquePath('lock');
  const held = await new DistributedLock(other, path).acquire();
  const waiting = await enqueue(new DistributedLock(session, path));
  expect(session.ended.listenerCount).toBeGreaterThan(before);
  await held.release();
  await (await waiting.hold).release();
  const [elector] = await lead(session, uniquePath('election'));
  await elector.stop();
  expect(session.ended.listenerCount).toBe(before);
});
