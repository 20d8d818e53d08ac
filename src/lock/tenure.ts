import type { Clock, Timer } from '../clock.js';
import { NodeLostError, SessionClosedError } from '../errors.js';
import { onAbort, sharedAbortController } from '../promises.js';
import type { OwnNode } from '../session/own-node.js';

/** What can end a tenure without its holder's doing. */
export type LossReason = 'lease-expired' | 'session-expired' | 'session-closed' | 'node-deleted';

/**
 * The time during which something is held: it begins when it was granted and ends once, for one reason. It is a
 * value with a lifetime, not a flag: every question asks the clock, because after a stalled event loop the lease is
 * over before anything has told so.
 *
 * It watches for its losses and reports the first through `onLoss`; the owner then calls {@link Tenure.end}.
 */
export class Tenure {
  readonly #own: OwnNode;
  readonly #clock: Clock;
  readonly #controller = sharedAbortController();
  readonly #onLoss: (reason: LossReason, cause?: Error) => void;
  readonly #forgetNode: () => void;
  #timer: Timer | undefined;

  constructor(own: OwnNode, clock: Clock, onLoss: (reason: LossReason, cause?: Error) => void) {
    this.#own = own;
    this.#clock = clock;
    this.#onLoss = onLoss;
    this.#watchLease();
    this.#forgetNode = onAbort(own.signal, () => onLoss(lossReason(own.signal.reason), own.signal.reason));
  }

  /** Aborts at the end, with the error given to {@link Tenure.end}. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether it is held at this very moment. */
  isHeld(): boolean {
    if (this.signal.aborted) return false;
    if (this.#own.isCurrent()) return true;
    // Seen to be over, so it stays over: a heartbeat that comes late must not bring it back.
    this.#onLoss('lease-expired');
    return false;
  }

  /** How long it can be held without another heartbeat, in milliseconds; 0 when it is over. */
  remainingMs(): number {
    return this.isHeld() ? this.#own.remainingMs() : 0;
  }

  /** The first reason counts. */
  end(reason: Error): void {
    if (this.signal.aborted) return;
    this.#timer?.clear();
    this.#controller.abort(reason);
    this.#forgetNode?.();
  }

  /** A timer for the lease's end. Not in the background: as long as something is held, somebody must see its end. */
  #watchLease(): void {
    this.#timer = this.#clock.after(this.#own.remainingMs(), () => {
      if (this.isHeld()) this.#watchLease();
    });
  }
}

function lossReason(error: Error): LossReason {
  if (error instanceof NodeLostError) return 'node-deleted';
  return error instanceof SessionClosedError ? 'session-closed' : 'session-expired';
}
