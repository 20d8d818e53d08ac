import type { DemotionReason } from '../errors.js';
import type { Environment } from '../platform/injected-environment.js';
import type { Logger } from '../platform/logging/logger.js';
import { jitteredPauseMs } from '../platform/retry/backoff.js';
import { isLoss } from './term/demotion.js';

/** In leases. A term that was lost sooner after its beginning counts as lost at once. */
const AT_ONCE = 2;
/** Two losses that are further apart don't count as losses in a row. */
const IN_A_ROW_WITHIN_MS = 300_000;
// When one candidate stays out, the next one takes over and may lose its term as well. With these times, three
// candidates that lose each term at once begin fewer than one term in 5 s together. They are short enough that an
// election with a single candidate has a leader again soon.
const FIRST_COOLDOWN_MS = 12_000;
const NEXT_COOLDOWN_MS = 24_000;
const JITTER = 0.25;
/** @internal The longest time that a candidate stays out of its election after terms that were lost at once. */
export const LONGEST_COOLDOWN_MS = (1 + JITTER) * NEXT_COOLDOWN_MS;

/** The facts about a term's end that say whether its candidate can keep a term. */
interface TermEnd {
  readonly reason: DemotionReason | undefined;
  readonly lastedMs: number;
  readonly leaseMs: number;
  /** Whether the connection that served the session at the claim still served it at the end. */
  readonly hasConnection: boolean;
}

/** When a candidate may join the queue again. */
export class RejoinBackoff {
  readonly #environment: Pick<Environment, 'clock' | 'random'>;
  readonly #logger: Logger;
  /** How many terms and attempts in a row came to nothing at once. */
  #failedAttempts = 0;
  /** How many terms in a row were lost at once, and when the last of them was. */
  #lostTerms = 0;
  #lostAt = 0;
  #notBefore = 0;

  constructor(environment: Pick<Environment, 'clock' | 'random'>, logger: Logger) {
    this.#environment = environment;
    this.#logger = logger;
  }

  /** Notes whether a term, or an attempt to join, came to nothing at once. Work that returns at once must not make the election spin. */
  note(fruitless: boolean): void {
    this.#failedAttempts = fruitless ? this.#failedAttempts + 1 : 0;
  }

  /**
   * A term has ended now. If another client deleted the leader's node, or wrote the record, that says nothing about the leader. If the
   * connection has ended, the server or the network did it: that says nothing about the replies, which may be quick enough for the lease.
   */
  termEnded({ reason, lastedMs, leaseMs, hasConnection }: TermEnd): void {
    if (lastedMs >= AT_ONCE * leaseMs) this.#lostTerms = 0;
    else if (reason !== undefined && isLoss(reason) && !isByAnotherClient(reason) && hasConnection)
      this.termLostAtOnce();
  }

  /**
   * A term was lost at once, perhaps before the application heard of it. The first loss has no effect: it may be the fault of the network,
   * and without another candidate every wait is an outage. From the second loss in a row on the candidate stays out. If it can't keep a
   * term, for example because its lease is too short for the replies, it mustn't take one again and again.
   */
  termLostAtOnce(): void {
    const { clock, random } = this.#environment;
    const now = clock.now();
    this.#lostTerms = now - this.#lostAt > IN_A_ROW_WITHIN_MS ? 1 : this.#lostTerms + 1;
    this.#lostAt = now;
    if (this.#lostTerms === 1) return;
    const leastMs = this.#lostTerms === 2 ? FIRST_COOLDOWN_MS : NEXT_COOLDOWN_MS;
    const cooldownMs = leastMs * (1 + JITTER * random());
    this.#logger.warn(
      { cooldownMs },
      'lost several terms soon after they began: staying out of the election for a while',
    );
    this.notBefore(now + cooldownMs);
  }

  /** Keeps the candidate from joining before `atMs`, by the environment's clock. Of several such times the latest counts. */
  notBefore(atMs: number): void {
    this.#notBefore = Math.max(this.#notBefore, atMs);
  }

  /** The candidate stays out until this time, by the environment's clock. */
  get notBeforeMs(): number {
    return this.#notBefore;
  }

  /** How much longer the candidate stays out, in milliseconds. */
  pauseMs(): number {
    if (this.#failedAttempts === 0 && this.#notBefore === 0) return 0; // The usual case.
    const { clock, random } = this.#environment;
    const fruitlessMs = this.#failedAttempts > 0 ? jitteredPauseMs(this.#failedAttempts, random()) : 0;
    return Math.max(0, fruitlessMs, this.#notBefore - clock.now());
  }
}

function isByAnotherClient(reason: DemotionReason): boolean {
  return reason === 'node-deleted' || reason === 'record-overwritten' || reason === 'refused';
}
