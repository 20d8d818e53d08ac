import type { Clock } from '../clock.js';

/** A lease that nothing has confirmed yet. */
export const NO_LEASE = Number.NEGATIVE_INFINITY;

/**
 * The lease rule: a write that was committed while the node existed, and was sent at `sentAt`, proves that the node
 * wasn't given away before `sentAt`. So whoever owns it may act until `sentAt + leaseMs`, counted from when the
 * write was *sent*: the reply may have been on its way for any time. A proof that is older than the one at hand
 * changes nothing.
 */
export function extendLease(until: number, sentAt: number, leaseMs: number): number {
  return Math.max(until, sentAt + leaseMs);
}

/** Until when a node is surely ours, by this process's clock. */
export class Lease {
  readonly #clock: Clock;
  #until = NO_LEASE;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A committed write that was sent at `sentAt` found the node in place. */
  confirm(sentAt: number, leaseMs: number): void {
    this.#until = extendLease(this.#until, sentAt, leaseMs);
  }

  /** How much of it is left, in milliseconds, at this very moment; 0 when it is over. */
  remainingMs(): number {
    return Math.max(0, this.#until - this.#clock.now());
  }

  /** Asks the clock: after a stalled event loop, nothing else tells the truth. */
  isCurrent(): boolean {
    return this.#clock.now() < this.#until;
  }
}
