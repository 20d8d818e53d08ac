import { describe, expect, it, vi } from 'vitest';
import { LockNode } from '../../../src/lease/own-node.js';
import { LeaseCell, SharedLease } from '../../../src/lease/shared-lease.js';
import { Validity } from '../../../src/lease/validity.js';
import { leaseStart, SystemClock } from '../../../src/platform/time/clock.js';
import type { ProvenNode } from '../../../src/session/keep-alive/heartbeat-batch.js';
import { startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';

/** A hold of the node, which ends as a term does. */
class Hold extends Validity {
  end(): void {
    this.endForOtherThreads('resigned');
    this.endHold(() => new Error('ended'));
  }
  forget(): void {
    this.letGo();
  }
  cell(): LeaseCell {
    return this.shareLease(undefined);
  }
  protected override onLoss(): void {
    this.endForOtherThreads('lease-expired');
    this.endHold(() => new Error('lost'));
  }
}

/** A node of a session for which a thread repeats the heartbeats. */
async function setUpRepeated() {
  const { clock, open } = await startWithTestClock();
  const session = await open();
  vi.spyOn(session, 'isRepeated', 'get').mockReturnValue(true);
  const node = LockNode.of(session, '/node', leaseStart(clock));
  node.keepAlive();
  return { clock, session, node };
}

/** What the thread does when a heartbeat was confirmed. */
function extend(node: LockNode): void {
  for (const memory of node.extendedByThread) new SharedLease(memory).provedAgo(() => -60_000);
}

/** Makes a session's node that is kept alive, and records the nodes for which the session sends heartbeats. */
async function setUp() {
  const { clock, open } = await startWithTestClock();
  const session = await open();
  const beating = new Set<ProvenNode>();
  vi.spyOn(session.keepAlive, 'add').mockImplementation((node) => void beating.add(node));
  vi.spyOn(session.keepAlive, 'remove').mockImplementation((node) => void beating.delete(node));
  const listenersBefore = session.ended.listenerCount;
  const node = LockNode.of(session, '/node', leaseStart(clock));
  node.keepAlive();
  const isFollowed = () => beating.has(node) || session.ended.listenerCount > listenersBefore;
  return { clock, session, node, isFollowed };
}

describe('a node of this session', () => {
  it('ends holds whose lease a server has shortened past its end in a turn of its own, not on the stack of the session', async () => {
    const { clock, open } = await startWithTestClock();
    const session = await open();
    const node = LockNode.of(session, '/node', leaseStart(clock));
    node.keepAlive();
    const hold = new Hold(node, clock);
    await clock.advance(10);
    vi.spyOn(session, 'leaseMs', 'get').mockReturnValue(5);
    session.keepAlive.leaseShortened();
    expect(hold.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(hold.signal.aborted).toBe(true);
  });

  it('has no heartbeats and listens to nothing as soon as the code that released it has run', async () => {
    const { node, isFollowed } = await setUp();
    expect(isFollowed()).toBe(true);
    node.release();
    await Promise.resolve();
    expect(isFollowed()).toBe(false);
    node.keepAlive();
    expect(isFollowed()).toBe(false);
  });

  it('has none either once it is lost', async () => {
    const { node, isFollowed } = await setUp();
    node.lose(new Error('gone'));
    await Promise.resolve();
    expect(isFollowed()).toBe(false);
  });

  it('is no longer held from the moment at which it is released, whatever a heartbeat says that comes after', async () => {
    const { clock, node } = await setUp();
    const confirmed: number[] = [];
    node.whenConfirmed(() => confirmed.push(clock.now()));
    expect(node.isHeld()).toBe(true);
    node.release();
    expect(node.isHeld()).toBe(false);
    node.confirmed(leaseStart(clock));
    expect(node.isHeld()).toBe(false);
    expect(confirmed).toEqual([]);
  });
});

describe('a hold', () => {
  it('is over when the process stood still for longer than a lease right behind the grant, whatever a later heartbeat says', async () => {
    const { clock, node } = await setUp();
    const hold = new Hold(node, clock);
    clock.jump(node.leaseMs);
    await new Promise((resolve) => process.nextTick(resolve));
    node.confirmed(leaseStart(clock));
    expect(node.isHeld()).toBe(true);
    expect(hold.isHeld()).toBe(false);
  });
});

describe('a hold of which nobody asks whether it is held', () => {
  it('outlasts suspensions of the machine that are longer than a lease together, if each was shorter', async () => {
    const { clock, session, node } = await setUp();
    await clock.advanceUntil(session.create(node.path, { mode: 'ephemeral' }));
    let suspendedMs = 0;
    const uptime = { readMs: () => clock.now() + suspendedMs, stepMs: 10 };
    const machine = new SystemClock({ monotonicMs: () => clock.now(), uptime });
    Object.assign(clock, { leaseNow: () => machine.leaseNow(), leaseStart: () => machine.leaseStart() });
    const hold = new Hold(node, clock);
    for (let suspensions = 0; suspensions < 3; suspensions++) {
      suspendedMs += node.leaseMs * 0.4;
      for (let heartbeats = 0; heartbeats < 2; heartbeats++) {
        await clock.advance(node.leaseMs / 2);
        node.confirmed(leaseStart(clock));
      }
    }
    expect(hold.isHeld()).toBe(true);
  });
});

describe('a node of a session whose heartbeats a thread repeats', () => {
  it('is held as long as the thread says, though this thread hears nothing', async () => {
    const { clock, node } = await setUpRepeated();
    const hold = new Hold(node, clock);
    extend(node);
    clock.jump(node.leaseMs * 2);
    expect(hold.isHeld()).toBe(true);
    expect(node.remainingMs()).toBeGreaterThan(50_000);
  });

  it('has its heartbeats repeated from the beginning of a hold until it is released, also while the work of the hold settles', async () => {
    const { clock, session, node } = await setUpRepeated();
    const changed = vi.spyOn(session.keepAlive, 'heldByChanged');
    expect(node.extendedByThread).toEqual([]);
    const hold = new Hold(node, clock);
    expect(changed).toHaveBeenCalledTimes(1);
    expect(node.extendedByThread).toHaveLength(1);
    hold.end();
    expect(node.extendedByThread).toHaveLength(1);
    expect(session.keepAlive.has(node)).toBe(true);
    node.release();
    expect(session.keepAlive.has(node)).toBe(false); // Before the caller can write the release.
  });

  it('gives the thread one lease for thousands of holds, with the first one, and takes it with the last', async () => {
    const { clock, session, node } = await setUpRepeated();
    const changed = vi.spyOn(session.keepAlive, 'heldByChanged');
    const holds = Array.from({ length: 4096 }, () => new Hold(node, clock));
    expect(node.extendedByThread).toHaveLength(1);
    for (const hold of holds) {
      expect(changed).toHaveBeenCalledTimes(1);
      hold.end();
      hold.forget();
    }
    expect(changed).toHaveBeenCalledTimes(2);
    expect(node.extendedByThread).toEqual([]);
  });

  it('shows all threads at once that a server has granted a shorter lease', async () => {
    const { clock, session, node } = await setUpRepeated();
    const hold = new Hold(node, clock);
    const { lease, end } = hold.cell().memory;
    vi.spyOn(session, 'leaseMs', 'get').mockReturnValue(5);
    session.keepAlive.leaseShortened();
    expect(new LeaseCell(new SharedLease(lease), end).remainingMs()).toBeLessThanOrEqual(5);
  });

  it('has none repeated if what it will hold needs none, as the plan of a planner that stands still', async () => {
    const { clock, session, node } = await setUpRepeated();
    const changed = vi.spyOn(session.keepAlive, 'heldByChanged');
    node.neverRepeat();
    new Hold(node, clock).end();
    expect(node.extendedByThread).toEqual([]);
    expect(changed).not.toHaveBeenCalled();
  });

  it('has them repeated for its other holds, if it has any, when the work of one has settled', async () => {
    const { clock, node } = await setUpRepeated();
    const [one, other] = [new Hold(node, clock), new Hold(node, clock)];
    one.end();
    one.forget();
    expect(node.extendedByThread).toHaveLength(1);
    extend(node);
    expect(other.isHeld()).toBe(true);
    other.end();
    other.forget();
    expect(node.extendedByThread).toEqual([]);
  });

  it('is over in this thread, for that hold, when another thread has found its lease over', async () => {
    const { clock, node } = await setUpRepeated();
    const hold = new Hold(node, clock);
    const { memory } = hold.cell();
    const later = new SharedLease(memory.lease, { monotonicMs: () => Number.MAX_SAFE_INTEGER });
    new LeaseCell(later, memory.end).isHeld();
    extend(node);
    expect(hold.isHeld()).toBe(false);
    expect(hold.signal.aborted).toBe(true);
  });

  it('extends the shared lease by its own proofs, too', async () => {
    const { clock, node } = await setUpRepeated();
    const hold = new Hold(node, clock);
    const before = hold.remainingMs();
    while (hold.remainingMs() >= before);
    node.confirmed(leaseStart(clock));
    expect(hold.remainingMs()).toBeGreaterThan(node.leaseMs - 100);
  });
});
