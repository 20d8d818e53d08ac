import { type Clock, lowerBoundNow } from '../platform/time/clock.js';

/** What a lease is counted by: its session has both. */
export interface LeaseTerms {
  readonly clock: Clock;
  /** How long a lease lasts now, in milliseconds. */
  readonly leaseMs: number;
}

/**
 * Until when a node surely belongs to this session, by this process's clock.
 *
 * The rule: a write that was sent at `sentAt`, and committed while the node existed, proves that the servers had not given
 * the node away before `sentAt`. So its holder may act until `sentAt` plus the lease. It counts from when the write was
 * *sent*: the reply may have been on its way for any time. The lease keeps the newest `sentAt`, not its end: `leaseMs`
 * shrinks when a server grants a shorter session timeout, and from then on a successor waits out the shorter lease only.
 */
export class Lease {
  readonly #terms: LeaseTerms;
  #sentAt = Number.NEGATIVE_INFINITY;

  constructor(terms: LeaseTerms) {
    this.#terms = terms;
  }

  /** A write that was sent at `sentAt` found the node in place. One that is older than the newest changes nothing. */
  confirmed(sentAt: number): void {
    this.#sentAt = Math.max(this.#sentAt, sentAt);
  }

  /** How much of the lease is left at this very moment, in milliseconds; 0 when it is over. */
  remainingMs(): number {
    const { clock, leaseMs } = this.#terms;
    return Math.max(0, this.#sentAt + leaseMs - clock.now());
  }

  /**
   * As {@link remainingMs}, or more by as long as the machine has been suspended since the clock was last asked. It costs
   * less. For timers, which stand still during a suspension too, and for renewing in good time; never for whether to act.
   */
  remainingAtMostMs(): number {
    const { clock, leaseMs } = this.#terms;
    return Math.max(0, this.#sentAt + leaseMs - lowerBoundNow(clock));
  }

  /** How long ago the newest write that the lease counts from was sent, in milliseconds; `Infinity` before the first. */
  proofAgeMs(): number {
    return this.#terms.clock.now() - this.#sentAt;
  }

  /** Asks the clock: after a stalled event loop, only the clock tells the truth. */
  isHeld(): boolean {
    return this.remainingMs() > 0;
  }
}
