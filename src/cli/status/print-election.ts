import type { Candidate } from '../../election/candidates/candidate.js';
import {
  type ElectionPicture,
  ElectionReader,
  type LedSeat,
  readElection,
} from '../../election/record/election-reader.js';
import type { Session } from '../../session/session.js';
import { checkSeatOf } from '../options/arguments.js';
import { candidateJson, candidateLine } from '../process/output.js';

/** A term at one moment. */
type SeatStatus = LedSeat & { readonly heartbeatAgeMs: number | undefined };

/** An election at one moment. */
interface Status extends Omit<ElectionPicture, 'seats'> {
  readonly election: string;
  readonly seats: readonly (SeatStatus | undefined)[];
}

/**
 * Prints who leads an election, and the candidates that wait.
 * @param how.seat - the seat whose leader to print. @default those of all seats
 * @returns whether there is a leader
 * @throws UserError if the election has no such seat
 */
export async function printElection(
  session: Session,
  election: string,
  { json, seat }: { readonly json?: boolean; readonly seat?: number },
): Promise<boolean> {
  const status = await readStatus(session, election);
  if (status.exists) checkSeatOf(election, seat, status.seats.length);
  console.log(json ? asJson(status, seat) : asText(status, seat));
  return leadersOf(status, seat).length > 0;
}

async function readStatus(session: Session, election: string): Promise<Status> {
  const { seats, ...picture } = await readElection(session, election);
  const reader = new ElectionReader(session, election);
  const read = seats.map(async (led) => {
    if (led === undefined) return undefined;
    const atMs = await reader.heartbeatAtMs(led.leader);
    const heartbeatAgeMs = atMs === undefined ? undefined : ageMs(atMs, session.clock.date().getTime());
    return { ...led, heartbeatAgeMs };
  });
  return { election, ...picture, seats: await Promise.all(read) };
}

/** The age in milliseconds, by two clocks: it is never negative, though the servers' clock may be ahead of this machine's. */
export function ageMs(atMs: number, nowMs: number): number {
  return Math.max(0, nowMs - atMs);
}

/** Of one seat, or of all. */
function leadersOf({ seats }: Status, seat: number | undefined): SeatStatus[] {
  return (seat === undefined ? seats : [seats[seat]]).filter((led) => led !== undefined);
}

function asJson(status: Status, seat: number | undefined): string {
  const { election, exists, seats, candidates } = status;
  const [first] = leadersOf(status, seat);
  return JSON.stringify({
    election,
    exists,
    ...(first === undefined ? { leader: null } : ledJson(first)),
    ...(seats.length > 1 && {
      leaders: seats.map((led, number) => ({ seat: number, ...(led ? ledJson(led) : { leader: null }) })),
    }),
    candidates: candidates.map(candidateJson),
  });
}

function ledJson({ term, leader, heartbeatAgeMs }: SeatStatus): object {
  return { term, leader: candidateJson(leader), ...(heartbeatAgeMs !== undefined && { heartbeatAgeMs }) };
}

function asText({ exists, seats, candidates }: Status, seat: number | undefined): string {
  if (!exists) return 'there is no such election';
  const leading = new Set(seats.map((led) => led?.leader.node));
  const led = seats.flatMap((each, number) => {
    if (seat !== undefined && seat !== number) return [];
    const lines = seatLines(each);
    return seats.length > 1 && seat === undefined ? onSeat(number, lines) : lines;
  });
  const waiting = candidates.filter(({ node }) => !leading.has(node)).map(waitingLine);
  return [...led, ...waiting].join('\n');
}

function seatLines(led: SeatStatus | undefined): string[] {
  if (led === undefined) return ['nobody leads'];
  const first = `term ${led.term}  ${candidateLine(led.leader)}`;
  return led.heartbeatAgeMs === undefined ? [first] : [first, heartbeatLine(led.heartbeatAgeMs)];
}

/** The lines about a seat's leader, where those about others are beside them. */
export function onSeat(seat: number, [first, ...others]: readonly string[]): string[] {
  return [`seat ${seat}  ${first}`, ...others];
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
