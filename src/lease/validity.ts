import { type HoldEndReason, InvalidStateError, NodeLostError, SessionClosedError } from '../errors.js';
import { LazyAbortController, onAbort } from '../platform/async/lazy-abort-controller.js';
import { ignore } from '../platform/async/promises.js';
import { type Clock, SystemClock, type Timer } from '../platform/time/clock.js';
import { nextTick } from '../platform/time/timers.js';
import { type GuardedTransaction, HolderTransaction } from './guarded-transaction.js';
import { isRefusal, type NodeHolder, type OwnNode } from './own-node.js';
import { type EndReason, LeaseCell } from './shared-lease.js';

/** The reasons for the end of a hold that its holder hasn't caused. */
export type LossReason = Exclude<HoldEndReason, 'released'>;

/**
 * The time during which a lock or a term is held. It begins with the grant and ends once, for one reason. It is a value with a lifetime and
 * not a flag. It asks the clock, since after a stall of the event loop the lease is over before any callback says so.
 */
export abstract class Validity implements NodeHolder {
  readonly #node: OwnNode;
  readonly #clock: Clock;
  readonly #ended = new LazyAbortController<Error>();
  readonly #unsubscribe: () => void;
  #over: Promise<void> | undefined; // Made when it is asked for: most holds are never asked.
  #timer: Timer | undefined;
  #leave = ignore; // Ends a listener of the node.
  #cell: LeaseCell | undefined; // Made when it is asked for.

  /** @param node - a node that isn't lost. A caller that has awaited anything has to check that again */
  constructor(node: OwnNode, clock: Clock) {
    this.#node = node;
    this.#clock = clock;
    node.hold(this); // First of all: another thread may send heartbeats while this one stands still.
    // The caller that waits for the hold continues first. No timer could fire earlier, and by then many locks are released again.
    nextTick(() => {
      if (this.#ended.aborted) return;
      const ms = node.remainingAtMostMs(); // Costs less than `isHeld`: thousands of holds may begin in one turn.
      if (ms > 0) this.#waitForEnd(ms);
      else this.#endOrWait();
    });
    this.#unsubscribe = onAbort(node.lost, () => {
      const reason = node.lost.reason as Error;
      this.onLoss(lossReason(reason), reason);
    });
  }

  /** Called when the hold is lost, for this reason. Must call {@link Validity.endHold}. */
  protected abstract onLoss(reason: LossReason, cause?: Error): void;

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  get ended(): Promise<void> {
    this.#over ??= new Promise((resolve) => onAbort(this.#ended, resolve));
    return this.#over;
  }

  /** The answer that {@link Validity.isHeld} would give, for logs and inspection. It doesn't end the hold if the lease is over. */
  get seemsHeld(): boolean {
    // The reason last: another thread may have found the lease over.
    return !this.#ended.aborted && this.#node.isHeld() && this.#cell?.reason === undefined;
  }

  isHeld(): boolean {
    if (this.#ended.aborted) return false;
    if (this.seemsHeld) return true;
    // A caller, here or in another thread, has learned that the lease is over. A late reply to a heartbeat must not bring it back.
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
      this.isHeld(); // Ends the hold, unless it has ended already.
      return this.#ended.reason as Error;
    });
  }

  /**
   * The cell by which other threads see until when the hold lasts. The first call makes it.
   * @param endedFor - why the hold has ended, if it has
   * @throws InvalidStateError if other threads can't read the clock by which the lease counts
   */
  protected shareLease(endedFor: EndReason | undefined): LeaseCell {
    if (this.#cell !== undefined) return this.#cell;
    if (!(this.#node.isRepeated || this.#clock instanceof SystemClock))
      throw new InvalidStateError(
        'handle() needs the clock of the machine, which all threads can read: this session has a clock of its own, by `session.environment`',
      );
    this.#cell = new LeaseCell(this.#node.shareLease());
    if (endedFor !== undefined) this.#cell.end(endedFor);
    // It notices that another thread has found the lease over.
    else if (this.isHeld()) this.#leave = this.#node.whenConfirmed(() => void this.isHeld());
    return this.#cell;
  }

  /**
   * Ends the hold for the other threads. To be called before anything else is done for its end.
   * @returns the reason that counts: another thread may have found before that the lease is over
   */
  protected endForOtherThreads<R extends EndReason>(reason: R): R | 'lease-expired' {
    if (this.#cell === undefined) return reason;
    this.#leave();
    this.#cell.end(reason);
    return this.#cell.reason === reason ? reason : 'lease-expired';
  }

  /** The work of the hold has settled. The heartbeats that another thread sends are now for what else is held by the node. */
  protected letGo(): void {
    this.#node.letGo(this);
  }

  /** Calls `listener` when the hold ends, before the listeners of its signal. */
  whenEnded(listener: () => void): void {
    onAbort(this.#ended, listener);
  }

  /** Ends the hold. The first reason counts, and becomes the signal's reason. */
  protected endHold(reason: () => Error): void {
    if (this.#ended.aborted) return;
    this.#ended.abortFor(reason);
    // The next holder waits for the release, which is sent before this. Until then the timer and the listener have no effect.
    nextTick(() => {
      this.#timer?.clear();
      this.#unsubscribe();
    });
  }

  /** @internal Ends nothing at once: listeners of the application mustn't run on the stack of the client. */
  leaseShortened(): void {
    if (this.#timer === undefined || this.#ended.aborted) return;
    this.#timer.clear();
    this.#waitForEnd(this.#node.remainingMs());
  }

  /** Ends the hold if the lease is over: the process may have stood still since the grant. */
  #endOrWait(): void {
    if (this.isHeld()) this.#waitForEnd(this.#node.remainingAtMostMs());
  }

  /** The timer keeps the process running, because the end of a hold must be noticed. */
  #waitForEnd(ms: number): void {
    this.#timer = this.#clock.after(ms, () => this.#endOrWait());
  }
}

function lossReason(error: Error): LossReason {
  if (error instanceof NodeLostError) return isRefusal(error) ? 'refused' : 'node-deleted';
  return error instanceof SessionClosedError ? 'session-closed' : 'session-expired';
}
