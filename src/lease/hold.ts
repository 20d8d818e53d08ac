import { type HoldEndReason, NodeLostError, SessionClosedError } from '../errors.js';
import { LazyAbortController, onAbort } from '../platform/async/lazy-abort.js';
import type { Clock, Timer } from '../platform/time/clock.js';
import { nextTick } from '../platform/time/timers.js';
import type { EphemeralNode } from './ephemeral-node.js';
import { type GuardedTransaction, HolderTransaction } from './guarded-transaction.js';

/** What can end a hold without its holder's doing. */
export type LossReason = Exclude<HoldEndReason, 'released'>;

/**
 * The time during which a lock or a term is held: it begins with the grant and ends once, for one reason. It is a value with
 * a lifetime, not a flag: it asks the clock, since after a stalled event loop the lease is over before a callback says so.
 */
export abstract class Hold {
  readonly #node: EphemeralNode;
  readonly #clock: Clock;
  readonly #ended = new LazyAbortController<Error>();
  readonly #unsubscribe: () => void;
  #timer: Timer | undefined;

  /** @param node - a node that isn't lost: a caller that has awaited anything checks that again */
  constructor(node: EphemeralNode, clock: Clock) {
    this.#node = node;
    this.#clock = clock;
    // The caller that waits for the hold goes on first. No timer could fire earlier, and many locks are released by then.
    nextTick(() => {
      if (!this.#ended.aborted) this.#watchLease();
    });
    this.#unsubscribe = onAbort(node.lost, () => {
      const reason = node.lost.reason as Error;
      this.onLoss(lossReason(reason), reason);
    });
  }

  /** The hold is being lost, for this reason. Must call {@link Hold.endHold}. */
  protected abstract onLoss(reason: LossReason, cause?: Error): void;

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** What {@link Hold.isHeld} would answer, for logs and inspection: if the lease is over, this doesn't end the hold. */
  get seemsHeld(): boolean {
    return !this.#ended.aborted && this.#node.isHeld();
  }

  isHeld(): boolean {
    if (this.#ended.aborted) return false;
    if (this.#node.isHeld()) return true;
    // Seen to be over, so it stays over: a late reply to a heartbeat must not bring it back.
    this.onLoss('lease-expired');
    return false;
  }

  assertHeld(): void {
    if (!this.isHeld()) throw this.#ended.reason;
  }

  remainingMs(): number {
    return this.isHeld() ? this.#node.remainingMs() : 0;
  }

  /** @internal How long ago the newest committed heartbeat was sent, in milliseconds. */
  get proofAgeMs(): number {
    return this.#node.proofAgeMs();
  }

  transaction(): GuardedTransaction {
    return new HolderTransaction([this.#node], () => {
      this.isHeld(); // Ends the hold, if nothing else has.
      return this.#ended.reason as Error;
    });
  }

  /** Calls `listener` when the hold ends, before the listeners of its signal. */
  whenEnded(listener: () => void): void {
    onAbort(this.#ended, listener);
  }

  /** The first reason counts: it is the signal's. */
  protected endHold(reason: () => Error): void {
    if (this.#ended.aborted) return;
    this.#ended.abortFor(reason);
    // The next holder waits for the release, which is sent before this. Until then neither of the two has any effect.
    nextTick(() => {
      this.#timer?.clear();
      this.#unsubscribe();
    });
  }

  /** A timer for the lease's end. It keeps the process running: while something is held, its end must be noticed. */
  #watchLease(): void {
    this.#timer = this.#clock.after(this.#node.remainingAtMostMs(), () => {
      if (this.isHeld()) this.#watchLease();
    });
  }
}

function lossReason(error: Error): LossReason {
  if (error instanceof NodeLostError) return 'node-deleted';
  return error instanceof SessionClosedError ? 'session-closed' : 'session-expired';
}
