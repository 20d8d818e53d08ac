import { isLoss } from '../../election/term/demotion.js';
import type { DemotionReason } from '../../errors.js';
import { exponentialPauseMs } from '../../platform/retry/backoff.js';
import type { LoopOptions } from './loop-options.js';

// Without another candidate every pause is an outage. So the first is short, and even the longest is a small part of the time in which an
// operator would look.
const FIRST_MS = 1000;
const LONGEST_MS = 8000;
const LONG_TERM = 10; // In session timeouts: a leader that has led for so long was well, whatever ended its term.

/** The facts about a term's end that say something about its leader. */
export interface EndedTerm {
  readonly reason: DemotionReason;
  readonly lastedMs: number; // How long it lasted, in milliseconds.
  readonly sessionTimeoutMs: number; // The timeout of the session that it was led with, in milliseconds.
}

type CooldownOptions = Pick<LoopOptions<never>, 'environment' | 'logger'>;

/** Computes until when a supervisor stays out of the election, after it has lost terms in a row. */
export class LostTermCooldown {
  readonly #options: CooldownOptions;
  #lostTerms = 0;
  #untilMs = 0;

  constructor(options: CooldownOptions) {
    this.#options = options;
  }

  get untilMs(): number {
    return this.#untilMs;
  }

  /** Stays out until `atMs` at least, by the environment's clock. */
  notBefore(atMs: number): void {
    this.#untilMs = Math.max(this.#untilMs, atMs);
  }

  termEnded(term: EndedTerm): void {
    const { environment, logger } = this.#options;
    this.#lostTerms = countLostTerms(this.#lostTerms, term);
    const ms = cooldownAfter(this.#lostTerms, environment.random());
    if (ms > 0) logger.warn({ losses: this.#lostTerms, cooldownMs: ms }, 'lost its term: cooling down');
    this.notBefore(environment.clock.now() + ms);
  }
}

/** How many terms in a row were lost, after `term` and those before it. */
export function countLostTerms(before: number, { reason, lastedMs, sessionTimeoutMs }: EndedTerm): number {
  if (!isLoss(reason)) return 0; // It gave its term back: it is well.
  return lastedMs < LONG_TERM * sessionTimeoutMs ? before + 1 : 1;
}

/**
 * How long to stay out of the election after so many terms were lost in a row, in milliseconds: twice as long each time, up to
 * eight times as long. So other candidates come first, and a candidate that loses one term after another doesn't win the next
 * one at once. The time has jitter, since the same cause may have ended the terms of other candidates, too.
 *
 * There is no pause after the first loss: the network or the servers may be at fault.
 *
 * @param random - evenly distributed over [0, 1)
 */
export function cooldownAfter(lostTerms: number, random: number): number {
  return lostTerms < 2 ? 0 : exponentialPauseMs(lostTerms - 1, FIRST_MS, LONGEST_MS) * (1 + random / 2);
}
