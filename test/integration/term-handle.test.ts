import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { InvalidStateError, ShardEndedError, TermEndedError } from '../../src/errors.js';
import { LeaseCell, SharedLease } from '../../src/lease/shared-lease.js';
import { heldTerm, type TermHandle } from '../../src/lease/term-handle.js';
import { LazyAbortController } from '../../src/platform/async/lazy-abort-controller.js';
import { GroupMember } from '../../src/shards/group-member.js';
import type { OwnedShard } from '../../src/shards/ownership/owned-shard.js';
import { ShardList } from '../../src/shards/stored/shard-list.js';
import { lead } from '../support/conclave/electors.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';
import { until } from '../support/waiting.mjs';

const SHORT = { sessionTimeoutMs: 6000, leaseMs: 500 };
/** How long a thread may take at most to see the end of a lease, on a busy machine. */
const BOUND_MS = 50_000;
const [ACTS, IS_OVER] = [0, 1] as const;

/** A thread as those of a pool: it takes one handle after another. */
function startThread() {
  const worker = new Worker(join(import.meta.dirname, '../fixtures/computing-thread.mjs'));
  onTestFinished(async () => void (await worker.terminate()));
  return {
    /** Waits until the thread has acted in that term. From then on the test may block this thread. */
    async computeIn(handle: TermHandle) {
      const numbers = new Int32Array(new SharedArrayBuffer(8));
      const said = once(worker, 'message');
      worker.postMessage({ handle, memory: numbers.buffer });
      await until(() => Atomics.load(numbers, ACTS) > 0);
      return { numbers, said: said.then(([message]) => message) };
    },
  };
}

/** What another thread does that asks when the lease is over. */
function findOver({ lease, end }: TermHandle): void {
  const later = new SharedLease(lease, { monotonicMs: () => Number.MAX_SAFE_INTEGER });
  expect(new LeaseCell(later, end).isHeld()).toBe(false);
}

async function joinGroup() {
  const shards: OwnedShard[] = [];
  const listener = {
    onAcquired: (shard: OwnedShard) => shards.push(shard),
    onEnded: () => undefined,
    onWorkFailed: () => undefined,
    onOverrun: () => undefined,
    onError: () => undefined,
    onPlanned: () => undefined,
  };
  const given = { id: 'a', weight: 1, shards: ShardList.of(2) } as const;
  const member = await GroupMember.join(
    await openSession(SHORT),
    uniquePath(),
    given,
    listener,
    new LazyAbortController(),
  );
  onTestFinished(() => member.leave());
  await until(() => shards.length === 2);
  return { member, shards: shards as [OwnedShard, OwnedShard] };
}

describe('the handle of a term', () => {
  it('is one frozen plain object, whose copies in other threads stand for the term', async () => {
    const [, term] = await lead(await openSession(), uniquePath());
    const handle = term.handle();
    expect(term.handle()).toBe(handle);
    expect(Object.isFrozen(handle)).toBe(true);
    const copy = heldTerm(structuredClone(handle));
    expect(copy).toMatchObject({ number: term.number, token: term.token });
    expect(copy.isHeld()).toBe(true);
    copy.assertHeld();
    const mostMs = term.remainingMs();
    expect(copy.remainingMs()).toBeLessThanOrEqual(mostMs);
    expect(copy.remainingMs()).toBeGreaterThan(0);
  });

  it('is extended by each heartbeat', async () => {
    const session = await openSession(SHORT);
    const [, term] = await lead(session, uniquePath());
    const copy = heldTerm(structuredClone(term.handle()));
    for (let heartbeats = 0; heartbeats < 6; heartbeats++) {
      const before = new BigInt64Array(term.handle().lease)[0] as bigint;
      await until(() => (new BigInt64Array(term.handle().lease)[0] as bigint) > before);
      expect(copy.isHeld()).toBe(true);
    }
  });

  it('says that the term has ended, and why, before its signal aborts', async () => {
    const [elector, term] = await lead(await openSession(), uniquePath());
    const copy = heldTerm(structuredClone(term.handle()));
    const seen: unknown[] = [];
    term.signal.addEventListener('abort', () => seen.push(copy.isHeld(), endOf(copy)));
    await elector.stop();
    expect(seen).toEqual([false, 'stopped']);
    expect(copy.remainingMs()).toBe(0);
    const late = heldTerm(term.handle());
    expect([late.isHeld(), endOf(late)]).toEqual([false, 'stopped']);
  });

  it('that is first asked for after the end of the term says so', async () => {
    const [elector, term] = await lead(await openSession(), uniquePath());
    await elector.stop();
    const copy = heldTerm(structuredClone(term.handle()));
    expect([copy.isHeld(), endOf(copy)]).toEqual([false, 'stopped']);
  });

  it('stays over while the same elector leads its next term', async () => {
    const [elector, first] = await lead(await openSession(), uniquePath());
    const copy = heldTerm(structuredClone(first.handle()));
    const [second] = await eventAfter<[typeof first]>(elector, 'elected', () => elector.resign());
    expect(second.handle().end).not.toBe(first.handle().end);
    expect([copy.isHeld(), endOf(copy)]).toEqual([false, 'resigned']);
    expect(heldTerm(second.handle()).isHeld()).toBe(true);
  });

  it('can’t be had with a clock of the session’s own', async () => {
    const { clock, open } = await startWithTestClock();
    const [elector, term] = await clock.advanceUntil(lead(await open(), '/e'));
    expect(() => term.handle()).toThrow(InvalidStateError);
    expect(() => term.handle()).toThrow('session.environment');
    expect(term.isHeld()).toBe(true);
    await clock.advanceUntil(elector.stop());
  });
});

describe('a lease that another thread finds over', () => {
  it('is over in the thread of the term too, and ends the term', async () => {
    const [elector, term] = await lead(await openSession(), uniquePath());
    findOver(term.handle());
    const demoted = nextEvent(elector, 'demoted');
    expect(term.isHeld()).toBe(false);
    expect(term.signal.reason).toMatchObject({ reason: 'lease-expired' });
    expect((await demoted)[1]).toBe('lease-expired');
  });

  it('ends the term at the next heartbeat, though nobody asks', async () => {
    const [elector, term] = await lead(await openSession(SHORT), uniquePath());
    const demoted = nextEvent(elector, 'demoted');
    findOver(term.handle());
    expect((await demoted)[1]).toBe('lease-expired');
  });

  it('is the reason of the end, whatever else ends the term after that', async () => {
    const [elector, term] = await lead(await openSession(), uniquePath());
    const demoted = nextEvent(elector, 'demoted');
    findOver(term.handle());
    await elector.stop();
    expect(term.signal.reason).toMatchObject({ reason: 'lease-expired' });
    expect((await demoted)[1]).toBe('lease-expired');
  });
});

describe('a thread that computes in a term', () => {
  it('sees the lease end by its own clock while the thread of the term is blocked', async () => {
    const [, term] = await lead(await openSession(SHORT), uniquePath());
    const { numbers, said } = await startThread().computeIn(term.handle());
    const acts = Atomics.load(numbers, ACTS);
    expect(Atomics.wait(numbers, IS_OVER, 0, BOUND_MS)).not.toBe('timed-out'); // Nothing else runs in this thread meanwhile.
    expect(Atomics.load(numbers, ACTS)).toBeGreaterThan(acts);
    expect(term.isHeld()).toBe(false);
    expect(term.signal.reason).toMatchObject({ reason: 'lease-expired' });
    const { number, token } = term;
    const ofClass = [true, false];
    const about = { number, token, shard: undefined };
    expect(await said).toEqual({ ...about, reason: 'lease-expired', ofClass, remainingMs: 0 });
  });

  it('and belongs to a pool sees that each term ends, and works in the next one', async () => {
    const [elector, first] = await lead(await openSession(), uniquePath());
    const threads = [startThread(), startThread()];
    let term = first;
    for (let terms = 0; terms < 3; terms++) {
      const works = await Promise.all(threads.map((thread) => thread.computeIn(term.handle())));
      const [next] = await eventAfter<[typeof first]>(elector, 'elected', () => elector.resign());
      for (const { said } of works)
        expect(await said).toMatchObject({ number: term.number, reason: 'resigned' });
      term = next;
    }
  });
});

describe('the handle of a shard', () => {
  it('has the id of the shard, and ends with that shard alone', async () => {
    const { member, shards } = await joinGroup();
    const copies = shards.map((shard) => heldTerm(structuredClone(shard.handle())));
    expect(copies.map(({ shard }) => shard).sort()).toEqual(['0', '1']);
    expect(copies.map(({ token }) => token)).toEqual(shards.map(({ token }) => token));
    expect(copies.map((copy) => copy.isHeld())).toEqual([true, true]);
    findOver(shards[0].handle());
    expect(shards.map((shard) => shard.isHeld())).toEqual([false, true]);
    expect(copies.map((copy) => copy.isHeld())).toEqual([false, true]);
    expect(() => copies[0]?.assertHeld()).toThrow(ShardEndedError);
    await member.leave();
    expect(copies.map(endOf)).toEqual(['lease-expired', 'stopped']);
  });

  it('shows a thread the end of the lease while the thread of the shard is blocked', async () => {
    const { shards } = await joinGroup();
    const [shard] = shards;
    const { numbers, said } = await startThread().computeIn(shard.handle());
    expect(Atomics.wait(numbers, IS_OVER, 0, BOUND_MS)).not.toBe('timed-out');
    expect(shard.isHeld()).toBe(false);
    const { id, number, token } = shard;
    const ofClass = [false, true];
    const about = { number, token, shard: id };
    expect(await said).toEqual({ ...about, reason: 'lease-expired', ofClass, remainingMs: 0 });
  });
});

/** The reason in the error that `assertHeld` throws. */
function endOf(term: { assertHeld(): void }): unknown {
  try {
    term.assertHeld();
  } catch (error) {
    if (error instanceof TermEndedError || error instanceof ShardEndedError) return error.reason;
    throw error;
  }
  return undefined;
}
