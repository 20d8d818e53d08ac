import {
  type Clock,
  isLater,
  type LeaseInstant,
  leaseAgeMs,
  leaseLeftAtMostMs,
  leaseLeftMs,
} from '../platform/time/clock.js';

/** The clock and the length by which a lease is counted. The session has both. */
export interface LeaseTerms {
  readonly clock: Clock;
  /** How long a lease lasts now, in milliseconds. */
  readonly leaseMs: number;
}

/**
 * The time until which a node surely belongs to this session, by this process's clock.
 *
 * The rule: if a write was sent at `sentAt` and committed while the node existed, the servers hadn't given the node away before
 * `sentAt`. So its holder may act until `sentAt` plus the lease. The lease counts from when the write was *sent*, because the
 * reply may have been on its way for any time. The object keeps the newest `sentAt` and not the end of the lease: `leaseMs`
 * shrinks when a server grants a shorter session timeout, and from then on a successor waits out only the shorter lease.
 */
export class Lease {
  readonly #terms: LeaseTerms;
  #sentAt: LeaseInstant | undefined;

  constructor(terms: LeaseTerms) {
    this.#terms = terms;
  }

  /** A write that was sent at `sentAt` found the node in place. If a newer one is known, this changes nothing. */
  confirmed(sentAt: LeaseInstant): void {
    if (this.#sentAt === undefined || isLater(sentAt, this.#sentAt)) this.#sentAt = sentAt;
  }

  /** How much of the lease is left at this very moment, in milliseconds; 0 when it is over. */
  remainingMs(): number {
    const { clock, leaseMs } = this.#terms;
    return this.#sentAt === undefined ? 0 : Math.max(0, leaseLeftMs(clock, this.#sentAt, leaseMs));
  }

  /**
   * As {@link remainingMs}, or longer by the time for which the machine was suspended since the clock was last asked. It costs less. Use it
   * for timers, which also stop during a suspension, and for renewals in good time. Never decide by it whether to act.
   */
  remainingAtMostMs(): number {
    const { clock, leaseMs } = this.#terms;
    return this.#sentAt === undefined ? 0 : Math.max(0, leaseLeftAtMostMs(clock, this.#sentAt, leaseMs));
  }

  /** How long ago the newest write was sent from which the lease counts, in milliseconds; `Infinity` before the first write. */
  proofAgeMs(): number {
    return this.#sentAt === undefined
      ? Number.POSITIVE_INFINITY
      : leaseAgeMs(this.#terms.clock, this.#sentAt);
  }

  /** Asks the clock: after a stalled event loop, only the clock tells the truth. */
  isHeld(): boolean {
    return this.remainingMs() > 0;
  }
}
