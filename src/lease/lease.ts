import { type Clock, lowerBoundNow } from '../platform/time/clock.js';

/** By what leases go: a session. */
export interface LeaseTerms {
  readonly clock: Clock;
  /** How long a lease is now, in milliseconds. */
  readonly leaseMs: number;
}

/**
 * Until when a node is surely ours, by this process's clock.
 *
 * The rule: a write that was committed while the node existed, and was sent at `sentAt`, proves that the node wasn't
 * given away before `sentAt`. So whoever owns it may act until `sentAt` plus the lease, counted from when the write was
 * *sent*: the reply may have been on its way for any time.
 *
 * What is kept is the newest proof, not the end: the length may shrink, when a server grants a shorter session timeout,
 * and from then on nobody waits longer than the shorter one for us to stop.
 */
export class Lease {
  readonly #terms: LeaseTerms;
  #provenAt = Number.NEGATIVE_INFINITY;

  constructor(terms: LeaseTerms) {
    this.#terms = terms;
  }

  /** A committed write that was sent at `sentAt` found the node in place. One that is older than the last changes nothing. */
  confirm(sentAt: number): void {
    this.#provenAt = Math.max(this.#provenAt, sentAt);
  }

  /** How much of it is left, in milliseconds, at this very moment; 0 when it is over. */
  remainingMs(): number {
    const { clock, leaseMs } = this.#terms;
    return Math.max(0, this.#provenAt + leaseMs - clock.now());
  }

  /**
   * As {@link Lease.remainingMs}, or more by as long as the machine has been suspended since the clock was last asked: for
   * timers, which stand still then as well, and for what is done in good time. Never for whether to act.
   */
  remainingAtMostMs(): number {
    const { clock, leaseMs } = this.#terms;
    return Math.max(0, this.#provenAt + leaseMs - lowerBoundNow(clock));
  }

  /** Asks the clock: after a stalled event loop, nothing else tells the truth. */
  isHeld(): boolean {
    return this.remainingMs() > 0;
  }
}
