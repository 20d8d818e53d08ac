import type { Candidate } from '../../election/candidates/candidate.js';
import {
  type ElectionPicture,
  ElectionReader,
  type LedTerm,
  readElection,
} from '../../election/record/election-reader.js';
import type { Session } from '../../session/session.js';
import { candidateJson, candidateLine, print } from '../process/output.js';

/** An election at one moment. */
interface Status extends ElectionPicture {
  readonly election: string;
  /** Of the leader's newest heartbeat. */
  readonly heartbeatAgeMs: number | undefined;
}

/**
 * Prints who leads an election, and the candidates that wait.
 * @returns whether there is a leader
 */
export async function printElection(
  session: Session,
  election: string,
  { json }: { readonly json?: boolean },
): Promise<boolean> {
  const status = await readStatus(session, election);
  print(...(json ? [asJson(status)] : asLines(status)));
  return status.led !== undefined;
}

async function readStatus(session: Session, election: string): Promise<Status> {
  const picture = await readElection(session, election);
  const { led } = picture;
  const atMs = led && (await new ElectionReader(session, election).heartbeatAtMs(led.leader));
  const heartbeatAgeMs = atMs === undefined ? undefined : ageMs(atMs, session.clock.date().getTime());
  return { election, ...picture, heartbeatAgeMs };
}

/** The age in milliseconds, by two clocks: it is never negative, though the servers' clock may be ahead of this machine's. */
export function ageMs(atMs: number, nowMs: number): number {
  return Math.max(0, nowMs - atMs);
}

function asJson({ election, exists, led, heartbeatAgeMs, candidates }: Status): string {
  return JSON.stringify({
    election,
    exists,
    ...(led === undefined ? { leader: null } : { term: led.term, leader: candidateJson(led.leader) }),
    ...(heartbeatAgeMs !== undefined && { heartbeatAgeMs }),
    candidates: candidates.map(candidateJson),
  });
}

function asLines({ exists, led, heartbeatAgeMs, candidates }: Status): string[] {
  if (!exists) return ['there is no such election'];
  const waiting = candidates.filter(({ node }) => node !== led?.leader.node).map(waitingLine);
  return [...leaderLines(led, heartbeatAgeMs), ...waiting];
}

function leaderLines(led: LedTerm | undefined, heartbeatAgeMs: number | undefined): string[] {
  if (led === undefined) return ['nobody leads'];
  const begins = led.leader.prepared === false ? '  not prepared: its work has not begun' : '';
  const first = `term ${led.term}  ${candidateLine(led.leader)}${begins}`;
  return heartbeatAgeMs === undefined ? [first] : [first, heartbeatLine(heartbeatAgeMs)];
}

export function heartbeatLine(heartbeatAgeMs: number): string {
  return `heartbeat  ${heartbeatAgeMs} ms ago, by the servers' clock and this machine's`;
}

export function waitingLine(
  candidate: Pick<Candidate, 'id' | 'priority' | 'prepared'> & { data?: Candidate['data'] },
): string {
  const { prepared } = candidate;
  const readiness = prepared === undefined ? '' : prepared ? '  prepared' : '  not prepared';
  return `waits  ${candidateLine(candidate)}${readiness}`;
}
