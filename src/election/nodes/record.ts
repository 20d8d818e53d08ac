import { parseEntry } from '../../lock/queue/order.js';
import { parseJsonObject } from '../../platform/json.js';

/**
 * The election's record: which candidate holds the current term, or that the last term ended cleanly. It is the data of
 * the election's own node, and is written by claims and releases only, in turn.
 */
export type ElectionRecord =
  | {
      readonly state: 'vacant';
      readonly term: number;
      /** The name of the node that should lead next, if that isn't the next in the queue. */
      readonly successor?: string;
    }
  | {
      readonly state: 'held';
      readonly term: number;
      /** The leader's id. */
      readonly id: string;
      /** The name of the leader's node in the queue. */
      readonly node: string;
      /** How long the leader's lease lasts at most, in milliseconds: a candidate that finds the node gone waits longer. */
      readonly leaseMs: number;
      /** When the term was claimed, by the leader's time of day, for people. */
      readonly since: string;
    };

/** What was read: a record, or data that can't be read as one. */
export type ReadRecord = ElectionRecord | { readonly state: 'unreadable' };

/** The path of the record: the election's own node, or, with several seats, the node of the seat. */
export function recordPath(path: string, seat?: number): string {
  return seat === undefined ? path : `${path}/seat-${seat}`;
}

const FORMAT = 1;
// No session timeout is longer: a leader hasn't written a record with a longer lease.
const LONGEST_LEASE_MS = 24 * 60 * 60 * 1000;

export function serializeRecord(record: ElectionRecord): Buffer {
  return Buffer.from(JSON.stringify({ format: FORMAT, ...record }));
}

/**
 * Reads a record. A node without data that was never written, at version 0, is a new election: vacant, term 0. Any client
 * may have written the node: data that isn't exactly a record is unreadable, and counts as held.
 */
export function parseRecord(data: Buffer, version: number): ReadRecord {
  const unreadable = { state: 'unreadable' } as const;
  if (data.length === 0) return version === 0 ? { state: 'vacant', term: 0 } : unreadable;
  const value = parseJsonObject(data);
  if (value === undefined || value.format !== FORMAT) return unreadable;
  const { state, term, id, node, leaseMs, since, successor } = value;
  if (!isTerm(term)) return unreadable;
  if (state === 'vacant') return { state, term, ...(isNode(successor) && { successor }) };
  if (state !== 'held' || typeof id !== 'string' || typeof since !== 'string') return unreadable;
  if (!isNode(node)) return unreadable;
  if (typeof leaseMs !== 'number' || !(leaseMs > 0 && leaseMs <= LONGEST_LEASE_MS)) return unreadable;
  return { state, term, id, node, leaseMs, since };
}

function isNode(value: unknown): value is string {
  return typeof value === 'string' && parseEntry(value) !== undefined;
}

function isTerm(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The record as a candidate expects to find it when its turn comes: enough to claim the next term without a read. */
export interface ExpectedRecord {
  readonly term: number;
  readonly version: number;
}

/** How often a claim writes the record: a held one always has an odd version, also if claimed over another held one. */
export function writesOfClaim(version: number): 1 | 2 {
  return version % 2 === 0 ? 1 : 2;
}

/**
 * How often a release writes the record: an odd number, so that a vacant record has an even version. More than once if it
 * names a successor: the next in the queue, which claims the version after a plain release unread, then finds another one.
 */
export function writesOfRelease(successor: string | undefined): 1 | 3 {
  return successor === undefined ? 1 : 3;
}

/** The claim that may follow a vacant record without a successor. If the record has changed by then, the claim is refused. */
export function vacancy(record: ReadRecord, version: number): ExpectedRecord | undefined {
  if (record.state !== 'vacant' || record.successor !== undefined || version % 2 !== 0) return undefined;
  return { term: record.term + 1, version };
}

/**
 * The claim that may follow a record which is held by the node `ahead`, for which the candidate waits. The version after
 * a held record's can only be a clean release of its term, so the candidate may claim it without reading: if the claim
 * succeeds, the release was clean. No other record allows such a guess.
 *
 * That every other candidate waits behind this one isn't reason enough: while this process was suspended, a candidate
 * nominated out of turn may have claimed after an unclean end. Its claim has left an odd version.
 */
export function predictRecord(
  record: ReadRecord,
  version: number,
  ahead: string,
): ExpectedRecord | undefined {
  if (record.state !== 'held' || record.node !== ahead || version % 2 === 0) return undefined;
  return { term: record.term + 1, version: version + 1 };
}
