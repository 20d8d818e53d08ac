import type { DemotionReason } from '../errors.js';
import type { Environment } from '../platform/environment.js';
import type { Logger } from '../platform/logging/logger.js';
import { jitteredPauseMs } from '../platform/retry/backoff.js';
import { isLoss } from './term/loss.js';

/** In leases: a term that was lost sooner was lost at once. */
const AT_ONCE = 2;
/** Further apart, two terms that were lost at once have nothing to do with each other. */
const IN_A_ROW_WITHIN_MS = 300_000;
// When one candidate stays out, the next one takes over, and loses its term as well. Three that lose each term at once begin
// less than one in 5 s. A candidate that is alone comes back, too.
const FIRST_COOLDOWN_MS = 12_000;
const NEXT_COOLDOWN_MS = 24_000;
const JITTER = 0.25;
/** @internal For how long a candidate stays out of its election at most, after terms that were lost at once. */
export const LONGEST_COOLDOWN_MS = (1 + JITTER) * NEXT_COOLDOWN_MS;

/** When a candidate may join the queue again. */
export class RejoinBackoff {
  readonly #environment: Pick<Environment, 'clock' | 'random'>;
  readonly #logger: Logger;
  /** Terms and attempts in a row that came to nothing at once. */
  #failedAttempts = 0;
  /** How many terms in a row were lost at once, and when the last of them was. */
  #lostTerms = 0;
  #lostAt = 0;
  #notBefore = 0;

  constructor(environment: Pick<Environment, 'clock' | 'random'>, logger: Logger) {
    this.#environment = environment;
    this.#logger = logger;
  }

  /** Whether a term, or an attempt to join, came to nothing at once: work that does so must not make the election spin. */
  note(fruitless: boolean): void {
    this.#failedAttempts = fruitless ? this.#failedAttempts + 1 : 0;
  }

  /** A term has ended now. That another client deleted the leader's node says nothing of the leader. */
  termEnded(reason: DemotionReason | undefined, lastedMs: number, leaseMs: number): void {
    if (lastedMs >= AT_ONCE * leaseMs) this.#lostTerms = 0;
    else if (reason !== undefined && isLoss(reason) && reason !== 'node-deleted') this.termLostAtOnce();
  }

  /**
   * A term was lost at once, perhaps before the application heard of it. The first time costs nothing: it may be the fault of
   * the network, and where there is no other candidate every wait is an outage. From the second in a row on the candidate
   * stays out: what it can't keep, as with a lease that is too short for its replies, it mustn't take again and again.
   */
  termLostAtOnce(): void {
    const { clock, random } = this.#environment;
    const now = clock.now();
    this.#lostTerms = now - this.#lostAt > IN_A_ROW_WITHIN_MS ? 1 : this.#lostTerms + 1;
    this.#lostAt = now;
    if (this.#lostTerms === 1) return;
    const leastMs = this.#lostTerms === 2 ? FIRST_COOLDOWN_MS : NEXT_COOLDOWN_MS;
    const cooldownMs = leastMs * (1 + JITTER * random());
    this.#logger.warn({ cooldownMs }, 'lost one term after another at once: staying out of the election');
    this.notBefore(now + cooldownMs);
  }

  /** The candidate isn't to join before `atMs`, by the environment's clock. Of several such times the last one counts. */
  notBefore(atMs: number): void {
    this.#notBefore = Math.max(this.#notBefore, atMs);
  }

  /** Before this time, by the environment's clock, the candidate stays out. */
  get notBeforeMs(): number {
    return this.#notBefore;
  }

  /** How long the candidate has still to stay out, in milliseconds. */
  pauseMs(): number {
    if (this.#failedAttempts === 0 && this.#notBefore === 0) return 0; // As nearly always.
    const { clock, random } = this.#environment;
    const fruitlessMs = this.#failedAttempts > 0 ? jitteredPauseMs(this.#failedAttempts, random()) : 0;
    return Math.max(0, fruitlessMs, this.#notBefore - clock.now());
  }
}
