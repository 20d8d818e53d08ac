import { NodeLostError, SessionClosedError } from '../errors.js';
import { LazyAbortController, onAbort } from '../platform/async/lazy-abort.js';
import type { Clock, Timer } from '../platform/time/clock.js';
import { nextTick } from '../platform/time/timers.js';
import type { EphemeralNode } from './ephemeral-node.js';
import { type GuardedTransaction, HolderTransaction } from './guarded-transaction.js';

/** What can end a tenure without its holder's doing. */
export type LossReason = 'lease-expired' | 'session-expired' | 'session-closed' | 'node-deleted';

/**
 * The time during which something is held, a lock or a term: it begins when it was granted and ends once, for one
 * reason. It is a value with a lifetime, not a flag: every question asks the clock, because after a stalled event loop
 * the lease is over before anything has told so.
 */
export abstract class Hold {
  readonly #own: EphemeralNode;
  readonly #clock: Clock;
  readonly #ended = new LazyAbortController<Error>();
  readonly #forgetNode: () => void;
  #timer: Timer | undefined;

  /** @param own - a node that isn't lost: whoever has just waited for something looks again */
  constructor(own: EphemeralNode, clock: Clock) {
    this.#own = own;
    this.#clock = clock;
    // Whoever waits for it is told first. No timer could run before that anyway, and a lock is often given up by then.
    nextTick(() => {
      if (!this.#ended.aborted) this.#watchLease();
    });
    this.#forgetNode = onAbort(own.lost, () => {
      const reason = own.lost.reason as Error;
      this.onLoss(lossReason(reason), reason);
    });
  }

  /** What is held is being lost, for this reason. Has to call {@link Hold.endTenure}. */
  protected abstract onLoss(reason: LossReason, cause?: Error): void;

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** What {@link Hold.isHeld} would say, for those who only show it: an end that nobody has noticed isn't noticed here. */
  get seemsHeld(): boolean {
    return !this.#ended.aborted && this.#own.isHeld();
  }

  isHeld(): boolean {
    if (this.#ended.aborted) return false;
    if (this.#own.isHeld()) return true;
    // Seen to be over, so it stays over: a heartbeat that comes late must not bring it back.
    this.onLoss('lease-expired');
    return false;
  }

  assertHeld(): void {
    if (!this.isHeld()) throw this.#ended.reason;
  }

  remainingMs(): number {
    return this.isHeld() ? this.#own.remainingMs() : 0;
  }

  transaction(): GuardedTransaction {
    return new HolderTransaction([this.#own], () => {
      this.isHeld(); // Notes the loss, if nothing else has.
      return this.#ended.reason as Error;
    });
  }

  /** Calls `listener` when it ends, before anybody who has the signal is told. */
  whenEnded(listener: () => void): void {
    onAbort(this.#ended, listener);
  }

  /** The first reason counts: it is the signal's. */
  protected endTenure(reason: () => Error): void {
    if (this.#ended.aborted) return;
    this.#ended.abortFor(reason);
    // Others wait for what is given up, which is asked for next. Until then neither of these changes anything any more.
    nextTick(() => {
      this.#timer?.clear();
      this.#forgetNode();
    });
  }

  /** A timer for the lease's end. Not in the background: as long as something is held, somebody must see its end. */
  #watchLease(): void {
    this.#timer = this.#clock.after(this.#own.remainingAtMostMs(), () => {
      if (this.isHeld()) this.#watchLease();
    });
  }
}

function lossReason(error: Error): LossReason {
  if (error instanceof NodeLostError) return 'node-deleted';
  return error instanceof SessionClosedError ? 'session-closed' : 'session-expired';
}
