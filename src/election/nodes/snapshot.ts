import { isDeepStrictEqual } from 'node:util';
import { parseEntry, type QueueEntry } from '../../lock/queue/order.js';
import { hasSession, type NodeData } from '../../session/protocol/records.js';
import { type Candidate, parseCandidate } from './candidate.js';
import { parseRecord } from './record.js';

/**
 * What one read of an election shows: its record, and the node of the candidate that the record names. With the zxids of the
 * transactions that wrote the two, which rise over the ensemble's whole life, also when nodes are deleted and created anew.
 */
export type LeaderSnapshot =
  /** There is no such election. */
  | { readonly kind: 'missing' }
  /** The record names no candidate: the last term ended cleanly, there was none yet, or the record can't be read. */
  | { readonly kind: 'vacant'; readonly recordZxid: bigint }
  /** The record names a candidate whose node is gone: its term ended uncleanly, and the next isn't claimed yet. */
  | { readonly kind: 'gone'; readonly recordZxid: bigint }
  | {
      readonly kind: 'led';
      readonly recordZxid: bigint;
      readonly nodeZxid: bigint;
      readonly term: number;
      readonly leader: Candidate;
    };

/** The queue entry that the record names: its node has to be read too, to know whether it leads. */
export function holderOf(election: NodeData): { term: number; entry: QueueEntry } | undefined {
  const record = parseRecord(election.data, election.stat.version);
  const entry = record.state === 'held' ? parseEntry(record.node) : undefined;
  return record.state === 'held' && entry !== undefined ? { term: record.term, entry } : undefined;
}

/**
 * Puts together two reads, of which the election's node came first. Time may pass between them. If the holder's node was
 * there at the second read, the holder led then: a term is given back in the transaction that deletes the node, and no
 * candidate claims the next term while the node is there, but for one that takes over and deletes it in its claim. If the node
 * was gone, its deletion came between the two: right after that there was no leader, or the one that has taken over, which the
 * next read shows.
 * @param holder - the node of the entry that {@link holderOf} named, if it is there
 */
export function snapshotOf(election: NodeData | undefined, holder: NodeData | undefined): LeaderSnapshot {
  if (election === undefined) return { kind: 'missing' };
  const recordZxid = election.stat.mzxid;
  const held = holderOf(election);
  if (held === undefined) return { kind: 'vacant', recordZxid };
  if (holder === undefined || !hasSession(holder.stat)) return { kind: 'gone', recordZxid };
  // The leader's position is 0 wherever its node is in the queue: the term may have been handed over to it out of turn.
  const leader = parseCandidate(held.entry, 0, holder.data);
  return { kind: 'led', recordZxid, nodeZxid: holder.stat.mzxid, term: held.term, leader };
}

export function leaderOf(snapshot: LeaderSnapshot): Candidate | undefined {
  return snapshot.kind === 'led' ? snapshot.leader : undefined;
}

/**
 * Whether `now` may be older than `before`, which was read earlier: another server may answer, and be behind. An election
 * that is missing has no zxid, so it can't be told whether it was deleted or isn't there yet, either way round.
 */
export function isInDoubt(now: LeaderSnapshot, before: LeaderSnapshot | undefined): boolean {
  if (before === undefined) return false;
  if (now.kind === 'missing' || before.kind === 'missing') return now.kind !== before.kind;
  if (now.recordZxid !== before.recordZxid) return now.recordZxid < before.recordZxid;
  // The same record has the same holder: its node's data only get newer, and in the end the node is gone for good.
  if (before.kind === 'gone') return now.kind !== 'gone';
  return now.kind === 'led' && before.kind === 'led' && now.nodeZxid < before.nodeZxid;
}

/** Whether both show no leader, or the same node in the same term that advertises the same. */
export function isSameLeader(one: LeaderSnapshot, other: LeaderSnapshot): boolean {
  if (one.kind !== 'led' || other.kind !== 'led') return one.kind !== 'led' && other.kind !== 'led';
  return one.term === other.term && isDeepStrictEqual(one.leader, other.leader);
}
