import { isDeepStrictEqual } from 'node:util';
import { parseEntry, type QueueEntry } from '../../lock/queue/order.js';
import { hasSession, type NodeData } from '../../session/protocol/records.js';
import { type Candidate, parseCandidate } from './candidate.js';
import { parseRecord } from './record.js';

/**
 * What one look at an election shows: its record, and the node of whoever the record names. With the zxids of the
 * transactions that wrote the two, which rise over the ensemble's whole life, whatever is deleted and made anew.
 */
export type LeaderSnapshot =
  /** There is no such election. */
  | { readonly kind: 'missing' }
  /** The record names nobody: the last term ended cleanly, there was none yet, or it can't be read. */
  | { readonly kind: 'vacant'; readonly recordZxid: bigint }
  /** The record names one whose node is gone: it ended uncleanly, and nobody has claimed the next term yet. */
  | { readonly kind: 'gone'; readonly recordZxid: bigint }
  | {
      readonly kind: 'led';
      readonly recordZxid: bigint;
      readonly nodeZxid: bigint;
      readonly term: number;
      readonly leader: Candidate;
    };

/** Whose node has to be read too, to know who leads. */
export function holderOf(
  election: NodeData,
): { readonly term: number; readonly entry: QueueEntry } | undefined {
  const record = parseRecord(election.data, election.stat.version);
  const entry = record.state === 'held' ? parseEntry(record.node) : undefined;
  return record.state === 'held' && entry !== undefined ? { term: record.term, entry } : undefined;
}

/**
 * Puts together what was read, the election's node first.
 *
 * The two reads may lie some time apart. If the holder's node was there at the second, it led then: a term is given
 * back in the transaction that deletes the node, and nobody claims the next one while it is there. If it was gone, its
 * end came between the two, and right after that nobody led.
 *
 * @param holder - the node of the one that {@link holderOf} named, if it is there
 */
export function snapshotOf(election: NodeData | undefined, holder: NodeData | undefined): LeaderSnapshot {
  if (election === undefined) return { kind: 'missing' };
  const recordZxid = election.stat.mzxid;
  const held = holderOf(election);
  if (held === undefined) return { kind: 'vacant', recordZxid };
  if (holder === undefined || !hasSession(holder.stat)) return { kind: 'gone', recordZxid };
  // Nobody leads before it, wherever it stands in the queue: it may have been called out of turn.
  const leader = parseCandidate(held.entry, 0, holder.data);
  return { kind: 'led', recordZxid, nodeZxid: holder.stat.mzxid, term: held.term, leader };
}

/** Who leads by it. */
export function leaderOf(sighting: LeaderSnapshot): Candidate | undefined {
  return sighting.kind === 'led' ? sighting.leader : undefined;
}

/**
 * Whether `now` may be older than what was seen before, as it is when another server answers, which is behind. An
 * election that is missing has no zxid: whether it was deleted or isn't there yet can't be told, either way round.
 */
export function isInDoubt(now: LeaderSnapshot, seen: LeaderSnapshot | undefined): boolean {
  if (seen === undefined) return false;
  if (now.kind === 'missing' || seen.kind === 'missing') return now.kind !== seen.kind;
  if (now.recordZxid !== seen.recordZxid) return now.recordZxid < seen.recordZxid;
  // The same record, so the same holder: its node's data get newer, and in the end it is gone for good.
  if (seen.kind === 'gone') return now.kind !== 'gone';
  return now.kind === 'led' && seen.kind === 'led' && now.nodeZxid < seen.nodeZxid;
}

/** Whether both show the same: nobody, or the same node in the same term with the same to say of itself. */
export function isSameLeader(one: LeaderSnapshot, other: LeaderSnapshot): boolean {
  if (one.kind !== 'led' || other.kind !== 'led') return one.kind !== 'led' && other.kind !== 'led';
  return one.term === other.term && isDeepStrictEqual(one.leader, other.leader);
}
