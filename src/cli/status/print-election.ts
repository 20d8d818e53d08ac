import { ElectionReader, readElection } from '../../election/record/election-reader.js';
import type { Session } from '../../session/session.js';
import { candidateJson, candidateLine, print, type ShownCandidate } from '../process/output.js';

/**
 * Prints who leads an election, and the candidates that wait.
 * @returns whether there is a leader
 */
export async function printElection(
  session: Session,
  election: string,
  { json }: { readonly json?: boolean },
): Promise<boolean> {
  const { exists, led, candidates } = await readElection(session, election);
  const atMs = led && (await new ElectionReader(session, election).heartbeatAtMs(led.leader));
  const heartbeatAgeMs = atMs === undefined ? undefined : ageMs(atMs, session.clock.date().getTime());
  if (json) {
    const leading =
      led === undefined ? { leader: null } : { term: led.term, leader: candidateJson(led.leader) };
    const heartbeat = heartbeatAgeMs !== undefined && { heartbeatAgeMs };
    print(
      JSON.stringify({
        election,
        exists,
        ...leading,
        ...heartbeat,
        candidates: candidates.map(candidateJson),
      }),
    );
  } else if (exists) {
    const begins = led?.leader.prepared === false ? '  not prepared: its work has not begun' : '';
    const leader = led && `term ${led.term}  ${candidateLine(led.leader)}${begins}`;
    const waiting = candidates.filter(({ node }) => node !== led?.leader.node);
    print(...electionLines(leader, heartbeatAgeMs, waiting));
  } else print('there is no such election');
  return led !== undefined;
}

/** The age in milliseconds, by two clocks: it is never negative, though the servers' clock may be ahead of this machine's. */
export function ageMs(atMs: number, nowMs: number): number {
  return Math.max(0, nowMs - atMs);
}

/** @param leader - the line of the leader, if there is one */
export function electionLines(
  leader: string | null | undefined,
  heartbeatAgeMs: number | undefined,
  waiting: readonly ShownCandidate[],
): string[] {
  const heartbeat = `heartbeat  ${heartbeatAgeMs} ms ago, by the servers' clock and this machine's`;
  return [
    leader ?? 'nobody leads',
    ...(heartbeatAgeMs === undefined ? [] : [heartbeat]),
    ...waiting.map(waitingLine),
  ];
}

function waitingLine(candidate: ShownCandidate): string {
  const { prepared } = candidate;
  const readiness = prepared === undefined ? '' : prepared ? '  prepared' : '  not prepared';
  return `waits  ${candidateLine(candidate)}${readiness}`;
}
