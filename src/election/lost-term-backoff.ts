import type { DemotionReason } from '../errors.js';
import type { Environment } from '../platform/injected-environment.js';
import type { Logger } from '../platform/logging/logger.js';
import { exponentialPauseMs, jitteredPauseMs } from '../platform/retry/backoff.js';
import { isLoss } from './term/demotion.js';

/** Two losses that are further apart don't count as losses in a row. */
const IN_A_ROW_WITHIN_MS = 300_000;
/** In leases. A term that was lost sooner after its beginning was lost at once. */
const AT_ONCE = 2;
/**
 * The pauses after lost terms: from the second in a row on, twice as long each time. Without another candidate every pause is an outage. So
 * the first is short, and even the longest is a small part of the time in which an operator would look.
 */
const AFTER_LOSSES = { firstMs: 1000, longestMs: 8000 };
/**
 * The pauses after terms that were lost at once though their connection went on. When one such candidate stays out, the next one takes over
 * and may lose its term as well. With these times, three of them begin fewer than one term in 5 s together. They are short enough that an
 * election with a single candidate has a leader again soon.
 */
const AFTER_LOSSES_AT_ONCE = { firstMs: 12_000, longestMs: 24_000 };
/** The same cause may have ended the terms of other candidates, too. */
const JITTER = 0.25;
/** @internal The longest time that a candidate stays out of its election. */
export const LONGEST_COOLDOWN_MS = (1 + JITTER) * AFTER_LOSSES_AT_ONCE.longestMs;

/** The facts about a term's end that say whether its candidate can keep a term. */
export interface EndedTerm {
  readonly reason: DemotionReason;
  readonly lastedMs: number;
  readonly leaseMs: number;
  /** Whether the connection that served the session at the claim still served it at the end. */
  readonly hasConnection: boolean;
}

/**
 * When a candidate may join the queue again. A candidate that loses one term after another stays out for a while, so that others come first.
 * The first loss has no effect: it may be the fault of the network or the servers.
 */
export class LostTermBackoff {
  readonly #environment: Pick<Environment, 'clock' | 'random'>;
  readonly #logger: Logger;
  /** How many terms and attempts in a row came to nothing at once. */
  #failedAttempts = 0;
  /** How many terms in a row were lost, how many of them at once, and when the last of them was. */
  #losses = 0;
  #lossesAtOnce = 0;
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

  /** A term has ended now, perhaps before the application heard of it. */
  termEnded(term: EndedTerm): void {
    const { clock, random } = this.#environment;
    const now = clock.now();
    if (!isLoss(term.reason) || now - this.#lostAt > IN_A_ROW_WITHIN_MS) {
      this.#losses = 0;
      this.#lossesAtOnce = 0;
    }
    if (!isLoss(term.reason)) return; // It gave the term back: it is well.
    this.#lostAt = now;
    this.#losses += 1;
    if (term.lastedMs >= AT_ONCE * term.leaseMs) this.#lossesAtOnce = 0;
    const isAtOnce = couldNotKeepIt(term);
    if (isAtOnce) this.#lossesAtOnce += 1;
    const [losses, { firstMs, longestMs }] =
      isAtOnce && this.#lossesAtOnce > 1
        ? [this.#lossesAtOnce, AFTER_LOSSES_AT_ONCE]
        : [this.#losses, AFTER_LOSSES];
    if (losses === 1) return;
    const cooldownMs = exponentialPauseMs(losses - 1, firstMs, longestMs) * (1 + JITTER * random());
    this.#logger.warn({ losses, cooldownMs }, 'lost several terms in a row: staying out for a while');
    this.#notBefore = Math.max(this.#notBefore, now + cooldownMs);
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

/**
 * Whether the candidate can't keep a term, for example because its lease is too short for the replies. If another client deleted the leader's
 * node, or wrote the record, that says nothing about the leader. If the connection has ended, the server or the network did it: that says
 * nothing about the replies, which may be quick enough for the lease.
 */
function couldNotKeepIt({ reason, lastedMs, leaseMs, hasConnection }: EndedTerm): boolean {
  return lastedMs < AT_ONCE * leaseMs && hasConnection && !isByAnotherClient(reason);
}

function isByAnotherClient(reason: DemotionReason): boolean {
  return reason === 'node-deleted' || reason === 'record-overwritten' || reason === 'refused';
}
