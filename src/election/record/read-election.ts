import type { Session } from '../../session/session.js';
import type { Candidate } from '../candidates/candidate.js';
import { inOrderOfLeading } from '../candidates/priority.js';
import { ElectionReader } from './election-reader.js';
import { severalSeatsOf } from './record.js';
import { holderOf } from './snapshot.js';

/** An election as one look at it shows. It may be a moment old. */
export interface ElectionPicture {
  readonly exists: boolean;
  /** By seat, from 0: the term that is led there. An election with one seat has one entry. */
  readonly seats: readonly (LedSeat | undefined)[];
  /** In the order in which they will lead, the leaders first. */
  readonly candidates: Candidate[];
}

/** A term, and the candidate that leads it. */
export interface LedSeat {
  readonly term: number;
  readonly leader: Candidate;
}

/** Reads an election, whatever its number of seats. Writes nothing. */
export async function readElection(session: Session, path: string): Promise<ElectionPicture> {
  const reader = new ElectionReader(session, path);
  const election = await reader.record();
  const several = election && severalSeatsOf(election);
  const recordOn = (seat: number) => new ElectionReader(session, path, seat).record();
  const records =
    several === undefined
      ? [election]
      : await Promise.all(Array.from({ length: several }, (_, seat) => recordOn(seat)));
  // After the records: a holder whose node is there led in between.
  const queue = await reader.queue();
  const held = records.map((record) => (record === undefined ? undefined : holderOf(record)));
  const leading = new Set(held.flatMap((holder) => holder?.entry.node ?? []));
  // As many candidates lead as there are seats, so those behind them have to wait for one less.
  const candidates = inOrderOfLeading(queue, leading).map((candidate, index) => ({
    ...candidate,
    position: leading.has(candidate.node) ? 0 : Math.max(0, index - records.length + 1),
  }));
  const seats = held.map((holder) => {
    const leader = candidates.find(({ node }) => node === holder?.entry.node);
    return holder && leader && { term: holder.term, leader };
  });
  return { exists: election !== undefined, seats, candidates };
}

/** The leader on each of an election's seats, from seat 0. */
export function leadersOf(session: Session, path: string, seats: number): Promise<(Candidate | undefined)[]> {
  const leaderOn = (seat: number) =>
    new ElectionReader(session, path, seats === 1 ? undefined : seat).leader();
  return Promise.all(Array.from({ length: seats }, (_, seat) => leaderOn(seat)));
}
