import { isDeepStrictEqual } from 'node:util';
import { parseEntry, type QueueEntry } from '../../queue/names-and-order.js';
import { hasSession, type NodeData } from '../../session/protocol/multi-and-stats.js';
import { type Candidate, parseCandidate } from '../candidates/candidate.js';
import { parseRecord } from './election-record.js';

/** What one read of an election shows: its record, and the node of the candidate that the record names. */
export type LeaderSnapshot =
  /** There is no such election. */
  | { readonly kind: 'missing' }
  /** The record names no candidate: the last term ended cleanly, there was no term yet, or the record can't be read. */
  | { readonly kind: 'vacant' }
  /** The record names a candidate whose node is gone: its term ended uncleanly, and no candidate has claimed the next one yet. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'led'; readonly term: number; readonly leader: Candidate };

/** The queue entry that the record names. Only a read of its node shows whether it leads. */
export function holderOf(election: NodeData): { term: number; entry: QueueEntry } | undefined {
  const record = parseRecord(election.data, election.stat.version);
  const entry = record.state === 'held' ? parseEntry(record.node) : undefined;
  return record.state === 'held' && entry !== undefined ? { term: record.term, entry } : undefined;
}

/**
 * Combines two reads, first of the election's node, then of its holder's. Time may pass between them.
 *
 * If the holder's node was there at the second read, the holder led then. A leader gives its term back in the transaction that deletes its
 * node. No candidate claims the next term while the node is there, except a takeover, whose claim deletes the node. If the node was gone,
 * it was deleted between the two reads. Right after that there was no leader, or a candidate that took over, which the next read shows.
 * @param holder - the node of the entry that {@link holderOf} named, if it is there
 */
export function snapshotOf(election: NodeData | undefined, holder: NodeData | undefined): LeaderSnapshot {
  if (election === undefined) return { kind: 'missing' };
  const held = holderOf(election);
  if (held === undefined) return { kind: 'vacant' };
  if (holder === undefined || !hasSession(holder.stat)) return { kind: 'gone' };
  // The leader's position is 0 wherever its node is in the queue: the term may have been handed over to it out of turn.
  const leader = parseCandidate(held.entry, 0, holder.data);
  return { kind: 'led', term: held.term, leader };
}

export function leaderOf(snapshot: LeaderSnapshot): Candidate | undefined {
  return snapshot.kind === 'led' ? snapshot.leader : undefined;
}

/** Whether both show no leader, or both show the same node with the same term and the same advertised data. */
export function isSameLeader(one: LeaderSnapshot, other: LeaderSnapshot): boolean {
  if (one.kind !== 'led' || other.kind !== 'led') return one.kind !== 'led' && other.kind !== 'led';
  return one.term === other.term && isDeepStrictEqual(one.leader, other.leader);
}
