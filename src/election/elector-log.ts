import type { DemotionReason } from '../errors.js';
import type { Logger } from '../platform/logging/logger.js';
import type { ElectedTerm } from './term/elected-term.js';
import type { GivenTerm } from './term/release.js';

/** One log line for each transition of a term. Durations are in whole milliseconds. */

/** @param joinsAt - when the elector began to join the queue, by the session's clock */
export function logElection(logger: Logger, term: ElectedTerm, joinsAt: number): void {
  const { origin = { kind: 'vacant' } } = term.claim;
  const since = origin.kind === 'vacant' ? {} : { [`${origin.kind}Ms`]: elapsed(origin.sinceMs, term) };
  const waitedMs = elapsed(joinsAt, term);
  logger.info({ ...term.describe(), reason: origin.kind, waitedMs, ...since }, 'elected');
}

export function logDemotion(logger: Logger, term: ElectedTerm, reason: DemotionReason): void {
  const { blocked } = term;
  if (blocked !== undefined)
    logger.warn({ ...term.describe(), ...blocked }, 'the event loop was blocked past the end of the lease');
  logger.info({ ...term.describe(), reason, lastedMs: term.lastedMs }, 'demoted');
}

/** @param given - `undefined` if the servers haven't answered the release, or have refused it */
export function logRelease(logger: Logger, term: ElectedTerm, given: GivenTerm | undefined): void {
  if (given === undefined) return;
  const { successor } = given;
  const to = successor === undefined ? {} : { successor: successor.node };
  logger.info({ ...term.describe(), ...to, tookMs: term.endedAgoMs }, 'released');
}

function elapsed(since: number, { beganAt }: ElectedTerm): number {
  return Math.max(0, Math.round(beganAt - since));
}
