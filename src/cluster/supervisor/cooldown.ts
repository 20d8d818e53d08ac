import { isLoss } from '../../election/term/loss.js';
import type { DemotionReason } from '../../errors.js';

const DEFAULT_MS = 1000;
const MOST_DOUBLINGS = 3;
/** In session timeouts: whoever has led for so long was well, whatever ended it. */
const LONG_TERM = 10;

/** How a term ended, as far as it says something about who led. */
export interface EndedTerm {
  readonly reason: DemotionReason;
  /** How long it lasted, in milliseconds. */
  readonly lastedMs: number;
  /** The timeout of the session that it was led with, in milliseconds. */
  readonly sessionTimeoutMs: number;
}

/** How many terms in a row were lost, after `term` and those before it. */
export function countLostTerms(before: number, { reason, lastedMs, sessionTimeoutMs }: EndedTerm): number {
  if (!isLoss(reason)) return 0; // It gave back what it had: it is well.
  return lastedMs < LONG_TERM * sessionTimeoutMs ? before + 1 : 1;
}

/**
 * How long to keep out of the election after so many terms were lost in a row, so that others come first and one that
 * loses its terms again and again doesn't win the next one at once: longer each time, up to eight times as long, and with
 * jitter, since whatever took the term may have taken those of others too.
 *
 * Unless it is told how long, the first loss costs nothing: it may be the network's fault or the servers', and where there
 * is no other candidate every wait is an outage.
 *
 * @param random - evenly distributed over [0, 1)
 */
export function cooldownAfter(losses: number, cooldownMs: number | undefined, random: number): number {
  const doublings = cooldownMs === undefined ? losses - 2 : losses - 1;
  if (doublings < 0) return 0;
  return (cooldownMs ?? DEFAULT_MS) * 2 ** Math.min(doublings, MOST_DOUBLINGS) * (1 + random / 2);
}
