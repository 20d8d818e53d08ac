import type { LeaderElector } from '../../election/elector.js';
import type { Term } from '../../election/term/term.js';
import { type DemotionReason, SessionExpiredError, TermEndedError } from '../../errors.js';
import type { Session } from '../../session/session.js';

/** One session with its elector, and what became of its term. */
export interface Candidacy {
  readonly session: Session;
  readonly elector: LeaderElector;
  /** The term that it lost last, until it has a place in the queue again: what the end of the session took away. */
  lost: Term | undefined;
  /** Whether it has come to its end by itself: because its session is over, or because its elector can't go on. */
  isSpent: boolean;
}

/** What there is to clean up after. */
export interface Loss {
  readonly term: Term | undefined;
  readonly reason: DemotionReason;
}

/**
 * What has been lost with a candidacy that is being left, and whose session hasn't been closed by us yet; `undefined` if it
 * was only stopped.
 *
 * A lease that ended with no server in reach is a loss too: without a stop, the next server would tell whether the session is over, but
 * a supervisor that stops won't ask. Rather clean up once too often.
 */
export function lossOf({ session, lost, isSpent }: Candidacy): Loss | undefined {
  if (session.ended.reason instanceof SessionExpiredError) return { term: lost, reason: 'session-expired' };
  if (session.ended.aborted || isSpent) return { term: lost, reason: 'stopped' };
  const isUnsure = session.state.name === 'suspended' && lost !== undefined && hasLapsed(lost);
  return isUnsure ? { term: lost, reason: 'lease-expired' } : undefined;
}

function hasLapsed(term: Term): boolean {
  const end: unknown = term.signal.reason;
  return end instanceof TermEndedError && end.reason === 'lease-expired';
}
