import { ElectionSupervisor } from '../cluster/supervisor/election-supervisor.js';
import { LeaderElector } from '../election/leader-elector.js';
import type { Term } from '../election/term/term.js';
import { InvalidOptionError } from '../errors.js';
import type { Clock } from '../platform/time/clock.js';
import type { Session } from '../session/session.js';

/** By which a process knows whether it leads. */
export type Leadership = ElectionSupervisor | LeaderElector;

/** @throws InvalidOptionError if it is neither a supervisor nor an elector */
export function checkLeadership(leadership: unknown): void {
  if (leadership instanceof ElectionSupervisor || leadership instanceof LeaderElector) return;
  throw new InvalidOptionError('leadership', leadership, 'an ElectionSupervisor or a LeaderElector');
}

/** Calls `listener` at the beginning of each term. */
export function onElected(leadership: Leadership, listener: () => void): void {
  // TypeScript doesn't see that both have this event.
  const events: { on(event: 'elected', listener: () => void): unknown } = leadership;
  events.on('elected', listener);
}

export function clockOf(leadership: Leadership): Clock {
  return leadership instanceof LeaderElector ? leadership.session.clock : leadership.environment.clock;
}

/** The session that holds the term. @throws if the term ends before there is a session */
export async function sessionOf(leadership: Leadership, term: Term): Promise<Session> {
  return leadership instanceof LeaderElector ? leadership.session : await leadership.session(term.signal);
}

/** The elector that campaigns now, if there is one. */
export function electorOf(leadership: Leadership): LeaderElector | undefined {
  return leadership instanceof LeaderElector ? leadership : leadership.candidacy?.elector;
}

/** How long after a leader's last heartbeat this process takes over, in milliseconds; 0 while it has no session. */
export function takeoverMsOf(leadership: Leadership): number {
  return electorOf(leadership)?.takeoverMs ?? 0;
}

/** The records of the jobs of each leadership in this process. Two jobs of one record would take each other's firings for done. */
const recordsOf = new WeakMap<Leadership, Set<string>>();

/** Returns `false` if the process has a job with this record already. */
export function claimRecord(leadership: Leadership, record: string): boolean {
  const records = recordsOf.get(leadership) ?? new Set<string>();
  recordsOf.set(leadership, records);
  return records.size < records.add(record).size;
}
