import { leaseOf } from '../../election/candidates/candidate-uuid.js';
import { parseRecord } from '../../election/record/election-record.js';
import { parseSeats } from '../../queue/agreed-seats.js';
import { parseLockEntry, type QueueEntry } from '../../queue/names-and-order.js';
import { hasPartsOfGroup } from '../../shards/stored/group-paths.js';
import { saysThatItIsGroup } from '../../shards/stored/shard-list.js';

/** The role of a node in Conclave. */
export type NodeKind =
  | { readonly name: 'group' | 'election' }
  | { readonly name: 'lock' | 'read-write' | 'semaphore'; readonly capacity: number }
  | { readonly name: 'other' };

/** A node as it was read. */
export interface ReadNode {
  readonly data: Buffer;
  /** Of the data. */
  readonly version: number;
  /** The names of its children. */
  readonly names: readonly string[];
}

/** The uuids in the names of candidates and heartbeat nodes. No other node has such a uuid. */
const OF_QUEUE = /^_[ch]_[0-9a-f-]{32,36}/i;

/**
 * The kind of a node, by its data and the names of its children. A pure decision. A lock without contenders looks like any empty node, and
 * so does an election in which no candidate has ever led. A group whose list of shards can't be read is known by its children.
 * @param former - the kind that the node had before: it keeps that kind unless its data or children show another one
 */
export function kindOf({ data, version, names }: ReadNode, former: NodeKind = OTHER): NodeKind {
  if (saysThatItIsGroup(data) || hasPartsOfGroup(names)) return { name: 'group' };
  const entries = names.flatMap((name) => parseLockEntry(name) ?? []);
  const hasCandidates = entries.some(isCandidate);
  const isRecord = data.length > 0 && parseRecord(data, version).state !== 'unreadable';
  if (isRecord || hasCandidates) return ELECTION;
  const seats = parseSeats(data);
  if (seats !== undefined) return { name: 'semaphore', capacity: seats };
  if (entries.length > 0) {
    const isReadWrite = entries.some(({ purpose }) => purpose !== 'lock') || former.name === 'read-write';
    return { name: isReadWrite ? 'read-write' : 'lock', capacity: 1 };
  }
  if (data.length > 0) return OTHER;
  return former.name === 'election'
    ? ELECTION
    : ['lock', 'read-write'].includes(former.name)
      ? former
      : OTHER;
}

export const OTHER: NodeKind = { name: 'other' };
const ELECTION: NodeKind = { name: 'election' };

/** Decides by the name alone: the uuids of Conclave's candidates have a version of their own. */
function isCandidate(entry: QueueEntry): boolean {
  return entry.purpose === 'lock' && leaseOf(entry) !== undefined;
}

/** The names of the children that may be, or lead to, elections, locks or groups, without those inside a queue. */
export function furtherNames(kind: NodeKind, names: readonly string[]): string[] {
  if (kind.name === 'group') return [];
  return names.filter((name) => !OF_QUEUE.test(name) && parseLockEntry(name) === undefined);
}
