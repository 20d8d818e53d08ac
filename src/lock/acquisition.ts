import { AsyncResource } from 'node:async_hooks';
import { NoNodeError, ZooKeeperError } from '../errors.js';
import {
  type Abortable,
  addAbortListener,
  LazyAbortController,
  removeAbortListener,
} from '../platform/async/lazy-abort-controller.js';
import { abortable, anyAbort, ignore } from '../platform/async/promises.js';
import type { Timer } from '../platform/time/clock.js';
import { halfLeaseMs } from '../platform/time/heartbeat-intervals.js';
import { nextTick } from '../platform/time/timers.js';
import type { Contender } from '../queue/contender.js';
import { joinQueue, withdraw } from '../queue/join-queue.js';
import type { EntryParser, Purpose, QueueEntry } from '../queue/names-and-order.js';
import { isOwnerless } from '../queue/ownerless-contenders.js';
import { EXCLUSIVE, mayLeaveReader, type TurnRule, toWatch } from '../queue/turn-rule.js';
import { awaitTurn, type QueuePosition, type TurnWaiter, untilTurn } from '../queue/turn-wait.js';
import type { Session } from '../session/session.js';
import { GrantHold } from './lock-hold.js';
import { type AcquireOptions, type ResolvedLockOptions, tooLate } from './lock-interface.js';
import { type Mode, ReentrantGrant } from './reentrant-grant.js';

/** The properties of one kind of lock, apart from the queue. */
export interface LockKind {
  readonly purpose: Purpose;
  readonly mode: Mode;
  /** The object for which `using` is reentrant: the lock itself, or the whole of which two locks are the two sides. */
  readonly identity: object;
}

/** The part of a lock that an acquisition uses. */
export interface Acquirable extends LockKind {
  readonly session: Session;
  readonly path: string;
  readonly options: ResolvedLockOptions;
  readonly parse: EntryParser;
  /** Which contenders must be gone before another one holds. @param signal - aborts when the rule is no longer needed */
  turnRule(signal: Abortable): TurnRule | Promise<TurnRule>;
}

/** Ends waits and watches that an acquisition may have left behind. Never leaves this module. */
const ACQUISITION_OVER = new Error('the acquisition is over');

/**
 * One call that waits for a lock. It joins the queue, waits for its turn, makes sure that it has a lease, and holds. A call that
 * fails leaves the queue, after its caller has heard of the failure.
 *
 * Thousands of calls may wait in one process for long. While a call waits for its turn, only this object is left of it. With its
 * wait and its watch it takes some 3 kB; a chain of pending promises takes 21 kB.
 */
export class Acquisition implements TurnWaiter {
  readonly #lock: Acquirable;
  readonly #userSignal: AbortSignal | undefined;
  readonly #resolve: (hold: GrantHold) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #cancellation = new LazyAbortController();
  readonly #timer: Timer | undefined;
  readonly onWaiting?: (position: QueuePosition) => void;
  #contender: Contender | undefined;
  #renewing: Promise<void> | undefined;

  private constructor(
    lock: Acquirable,
    { timeoutMs, signal, onWaiting }: AcquireOptions,
    resolve: (hold: GrantHold) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#lock = lock;
    this.#resolve = resolve;
    this.#reject = reject;
    // At each call, the work that the listener begins belongs to the work that asks for the lock.
    if (onWaiting !== undefined) {
      const notify = AsyncResource.bind(onWaiting);
      this.onWaiting = (position) => notify(position);
    }
    this.#userSignal = signal;
    if (signal !== undefined) addAbortListener(signal, this);
    // With a timeout of 0 the call still waits for the servers' replies, but for a lease at most: by then a dead link is found.
    const limitMs = timeoutMs === 0 ? lock.session.leaseMs : timeoutMs;
    if (limitMs !== undefined)
      this.#timer = lock.session.clock.after(limitMs, () =>
        this.#cancellation.abort(tooLate(lock, 'acquired', limitMs)),
      );
    void this.#join(timeoutMs === 0); // Never rejects.
  }

  /** @param options - checked options, whose signal hasn't aborted */
  static begin(lock: Acquirable, options: AcquireOptions): Promise<GrantHold> {
    return new Promise((resolve, reject) => new Acquisition(lock, options, resolve, reject));
  }

  /** @internal Aborts when the wait ends early: its time is up, or the caller's signal has aborted. */
  get signal(): LazyAbortController {
    return this.#cancellation;
  }

  /** @internal The caller's signal has aborted. */
  handleEvent(): void {
    this.#cancellation.abort(this.#userSignal?.reason);
  }

  /** Step 1: joins the queue and waits there for its turn. With `nowOrNever` it looks only once. Never rejects. */
  async #join(nowOrNever: boolean): Promise<void> {
    const { session, path, options, purpose, parse } = this.#lock;
    const { data, access } = options;
    let joining: Promise<Contender> | undefined;
    try {
      const asked = this.#askRule();
      const rule = 'capacity' in asked ? asked : await asked;
      this.#cancellation.throwIfAborted();
      joining = joinQueue(session, path, {
        ...(data !== undefined && { data }),
        access,
        purpose,
        parse,
        signal: this.#cancellation,
      });
      const contender = await abortable(joining, this.#cancellation);
      this.#contender = contender;
      // If the rule never changes, nothing of this function stays in memory during the wait.
      if (!nowOrNever && rule.outdated === undefined) return awaitTurn(contender, this, rule);
      if (nowOrNever) await this.#checkTurn(contender, rule);
      else await this.#untilTurn(contender, rule);
      this.turnCame();
    } catch (error) {
      this.#fail(error, joining);
    }
  }

  /** The wait for the rule ends with the acquisition, since there may be no server to ask. */
  #askRule(): TurnRule | Promise<TurnRule> {
    const rule = this.#lock.turnRule(this.#cancellation);
    return 'capacity' in rule ? rule : abortable(rule, this.#cancellation);
  }

  async #untilTurn(contender: Contender, first: TurnRule): Promise<void> {
    const onListing = () => this.onListing();
    const listeners = { onListing, ...(this.onWaiting !== undefined && { onWaiting: this.onWaiting }) };
    for (let rule = first; ; rule = await this.#askRule()) {
      const { outdated } = rule;
      const { controller, unsubscribe } = anyAbort(this.#cancellation, outdated);
      try {
        return await untilTurn(contender, { ...listeners, signal: controller }, rule);
      } catch (error) {
        if (!outdated?.aborted || error !== outdated.reason) throw error;
      } finally {
        unsubscribe();
      }
    }
  }

  /** Looks once. @throws LockTimeoutError unless it is the contender's turn */
  async #checkTurn(contender: Contender, first: TurnRule): Promise<void> {
    for (let rule = first; ; rule = await this.#askRule()) {
      const isTurn = await abortable(hasTurn(contender, rule), this.#cancellation);
      if (rule.outdated?.aborted) continue; // The rule may have changed before these reads, so their answer doesn't count.
      if (isTurn) return;
      throw tooLate(this.#lock, 'acquired', 0);
    }
  }

  /** @internal Sends a renewal that is due together with the listing that decides about the turn. That saves a round trip. */
  onListing(): void {
    const { node } = this.#contender as Contender;
    this.#renewing = undefined;
    if (node.remainingAtMostMs() >= this.#leaseToBeginWith) return;
    this.#renewing = node.renew(this.#cancellation);
    this.#renewing.catch(ignore); // Handled when the turn comes.
  }

  /** @internal Step 2: the turn has come. */
  turnCame(): void {
    // A lost node may still have a lease: `#hold` checks for that.
    const { node } = this.#contender as Contender;
    if (this.#renewing !== undefined || node.remainingMs() < this.#leaseToBeginWith)
      void this.#renewAndHold();
    else this.#hold();
  }

  /** @internal The turn won't come. */
  turnFailed(reason: unknown): void {
    this.#fail(reason);
  }

  /** Step 3, only if too little is left of the lease. Never rejects. */
  async #renewAndHold(): Promise<void> {
    const { node } = this.#contender as Contender;
    try {
      if (this.#renewing !== undefined) await this.#renewing;
      if (node.remainingMs() < this.#leaseToBeginWith) await node.renew(this.#cancellation);
      this.#hold();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The last step: it is the contender's turn, with enough of a lease. */
  #hold(): void {
    const { session, identity, mode, options } = this.#lock;
    const contender = this.#contender as Contender;
    try {
      contender.node.lost.throwIfAborted();
      this.#cancellation.throwIfAborted();
      const { onRevoke } = options;
      const onRequest = onRevoke === undefined ? undefined : () => onRevoke(hold);
      const hold: GrantHold = new GrantHold(
        new ReentrantGrant(contender, session, identity, onRequest),
        mode,
      );
      this.#resolve(hold);
      this.#cleanUp();
    } catch (error) {
      this.turnFailed(error);
    }
  }

  /**
   * Rejects at once, since a server that hangs mustn't make the call late. The rest goes on without the call: it leaves the queue,
   * even if the creation of the node is still under way.
   */
  #fail(reason: unknown, joining?: Promise<Contender>): void {
    // Neither rejects. They go on until the node is gone or the session is over.
    void (this.#contender?.leave() ?? (joining && withdraw(joining)));
    this.#reject(reason);
    this.#cleanUp();
  }

  /** The least rest of a lease with which a hold begins, in milliseconds. */
  get #leaseToBeginWith(): number {
    return halfLeaseMs(this.#lock.session.leaseMs);
  }

  #cleanUp(): void {
    // The caller continues first.
    nextTick(() => {
      this.#timer?.clear();
      if (this.#userSignal !== undefined) removeAbortListener(this.#userSignal, this);
      this.#cancellation.abort(ACQUISITION_OVER); // Ends everything that is left, as the watch on a semaphore's seats.
    });
  }
}

/** Whether it is the contender's turn now. @throws NodeLostError if the contender's node is gone, or the error that ended the session */
export async function hasTurn(contender: Contender, rule: TurnRule = EXCLUSIVE): Promise<boolean> {
  const { capacity } = rule;
  for (;;) {
    const blocking = await contender.listBlocking(rule, contender.node.lost);
    if (blocking.length <= capacity) return true;
    // A read of the nearest nodes is mostly enough for a negative answer. There may be very many others.
    const nearest = await countBlocking(contender, toWatch(blocking, rule), rule);
    if (nearest > capacity) return false;
    const others = await countBlocking(contender, blocking.slice(0, -capacity - 1), rule);
    if (nearest + others > capacity) return false;
    if (!mayLeaveReader(blocking, rule)) return true;
  }
}

/** How many of these nodes still exist, aren't ownerless, and block by their data. It takes one read for each. */
async function countBlocking(
  { session, queue, node: { lost } }: Contender,
  entries: readonly QueueEntry[],
  { noLongerBlocks }: TurnRule,
): Promise<number> {
  const blocking = entries.map(async ({ node }) => {
    const path = `${queue}/${node}`;
    try {
      const { data, stat } = await session.retryUntilAnswered(() => session.getData(path), lost);
      return !isOwnerless(session, queue, node, stat) && noLongerBlocks?.(data) !== true;
    } catch (error) {
      if (error instanceof NoNodeError) return false;
      if (error instanceof ZooKeeperError) return true; // The node exists, and the session may not read it.
      throw error;
    }
  });
  return (await Promise.all(blocking)).filter(Boolean).length;
}
