/**
 * Calls that fail, or that their caller gives up, at any moment, also while replies are lost. No node may be left, and no contender
 * may wait for ever.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LockTimeoutError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import type { LockHold } from '../../src/lock/lock-hold.js';
import type { Session } from '../../src/session/session.js';
import { LOCK_KINDS, type LockTestKind } from '../support/conclave/lock-kinds.js';
import { openProxied, openSession, uniquePath } from '../support/conclave/sessions.js';
import type { TcpProxy } from '../support/faults/tcp-proxy.mjs';
import { until } from '../support/waiting.mjs';

/** When something happens: this many milliseconds after the call, or after this many of its requests have passed the proxy. */
const instant = fc.oneof(
  fc.record({ afterMs: fc.nat(40) }),
  fc.record({ afterRequests: fc.integer({ min: 1, max: 14 }) }),
);
type Instant = { readonly afterMs: number } | { readonly afterRequests: number };

const lostReply = fc.constantFrom('create', 'getChildren', 'getData', 'delete', 'multi');
const breakage = fc.record({
  how: fc.constantFrom('bounce', 'cut'),
  when: instant,
  /** How long no client is served after a cut. */
  restoredAfterMs: fc.nat(60),
});

const end = fc.oneof(
  fc.record({ kind: fc.constant('aborted' as const), when: instant }),
  fc.record({ kind: fc.constant('too late' as const), timeoutMs: fc.integer({ min: 1, max: 60 }) }),
  fc.constant({ kind: 'now or never' as const }),
  fc.constant({ kind: 'patient' as const }),
);

const plan = fc.record({
  /** Whether another session holds the lock from before the call until the call has ended. */
  held: fc.boolean(),
  end,
  lostReply: fc.option(lostReply, { nil: undefined }),
  breakage: fc.option(breakage, { nil: undefined }),
});
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

const GIVEN_UP = 'given up';

class Run {
  readonly #plan: Plan;
  readonly #proxy: TcpProxy;
  readonly #kind: LockTestKind;
  readonly #path = uniquePath('faults');

  constructor(kind: LockTestKind, plan: Plan, proxy: TcpProxy) {
    this.#kind = kind;
    this.#plan = plan;
    this.#proxy = proxy;
  }

  async go(session: Session, other: Session): Promise<void> {
    const [lock, behind] = [this.#kind.make(session, this.#path), this.#kind.make(other, this.#path)];
    await behind.using(() => undefined); // This creates the paths and agrees on the seats.
    const blockers = this.#plan.held ? await this.#block(other) : [];
    const restored = this.#setFaults();
    const outcome = this.#attempt(
      (options) => lock.acquire(options),
      () => lock.tryAcquire(),
    );
    // This lock may come before the other: the order doesn't matter here.
    const next = behind.using((own) => own.assertHeld());
    // A patient call waits for the holder. All other calls must end by themselves.
    if (this.#plan.end.kind === 'patient') for (const hold of blockers) void hold.release();
    const hold = await outcome;
    expect(hold === undefined || hold.isHeld()).toBe(true);
    await Promise.all([...blockers.map((each) => each.release()), hold?.release()]);
    await restored;
    await next;
    const left = async () =>
      (await Promise.all(this.#kind.queues(this.#path).map((queue) => other.getChildren(queue)))).flat();
    await until(async () => (await left()).length === 0, `an empty queue instead of ${await left()}`);
    for (const each of [lock, behind]) await each.using((own) => own.assertHeld(), { timeoutMs: 5000 });
    expect(await left()).toEqual([]);
  }

  /** Keeps all contenders from holding, by plain locks at the head of each queue. */
  #block(session: Session): Promise<LockHold[]> {
    return Promise.all(
      this.#kind.queues(this.#path).map(async (queue) => {
        // One hold for each seat, if there are seats.
        const seats = Number.isFinite(this.#kind.holders) ? this.#kind.holders : 1;
        return await Promise.all(
          Array.from({ length: seats }, async (_, seat) =>
            seat === 0 ? await new DistributedLock(session, queue).acquire() : await this.#seat(session),
          ),
        );
      }),
    ).then((holds) => holds.flat());
  }

  #seat(session: Session): Promise<LockHold> {
    return this.#kind.make(session, this.#path).acquire();
  }

  /** Resolves when the last planned fault has happened, or can't happen any more. */
  async #setFaults(): Promise<void> {
    const { lostReply: operation, breakage: broken } = this.#plan;
    if (operation !== undefined) void this.#proxy.loseReplyTo(operation);
    if (broken === undefined) return;
    await this.#at(broken.when);
    if (broken.how === 'bounce') return this.#proxy.dropConnections();
    this.#proxy.cut();
    await pause(broken.restoredAfterMs);
    this.#proxy.restore();
  }

  /** Makes the call, and returns its hold, if any. Fails if the call ended otherwise than planned. */
  async #attempt(
    acquire: (options: { timeoutMs?: number; signal?: AbortSignal }) => Promise<LockHold>,
    tryAcquire: () => Promise<LockHold | undefined>,
  ): Promise<LockHold | undefined> {
    const end = this.#plan.end;
    const abort = new AbortController();
    try {
      switch (end.kind) {
        case 'now or never':
          return await tryAcquire();
        case 'patient':
          return await acquire({});
        case 'too late':
          return await acquire({ timeoutMs: end.timeoutMs });
        case 'aborted':
          void this.#at(end.when).then(() => abort.abort(GIVEN_UP));
          return await acquire({ signal: abort.signal });
      }
    } catch (error) {
      if (error !== GIVEN_UP && !(error instanceof LockTimeoutError)) throw error;
      return undefined;
    }
  }

  /** Resolves at that moment, or after 100 ms at the latest, because fewer requests may come than planned. */
  async #at(when: Instant): Promise<void> {
    if ('afterMs' in when) await pause(when.afterMs);
    else await Promise.race([this.#proxy.afterRequests(when.afterRequests), pause(100)]);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

describe('a call that fails or is given up at any instant', () => {
  it.each(LOCK_KINDS)('leaves no node and no contender stuck: $name', async (kind) => {
    const other = await openSession({ sessionTimeoutMs: 20_000 });
    const property = fc.asyncProperty(plan, async (each) => {
      const { proxy, session } = await openProxied({ sessionTimeoutMs: 20_000 });
      try {
        await new Run(kind, each, proxy).go(session, other);
      } finally {
        proxy.restore();
        await session.close();
        await proxy.stop();
      }
    });
    // A run that hangs fails before the test does, so that its seed is reported.
    await fc.assert(property, { numRuns: 15, endOnFailure: true, timeout: 25_000 });
  });
});
