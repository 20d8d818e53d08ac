import { parseJsonObject } from '../../platform/json.js';
import { parseEntry } from '../../queue/names-and-order.js';
import type { Seen } from '../../session/versioned-records.js';

/**
 * How a term began, which says how the one before it ended. `vacant`: the record named no candidate. `handover`: the former leader released
 * its term to the new one, or its guardian did. `failover`: the former leader's node had gone without a release. `takeover`: the former
 * leader was silent, and the write that began the term deleted its node.
 */
export type Beginning = (typeof BEGINNINGS)[number];

const BEGINNINGS = ['vacant', 'handover', 'failover', 'takeover'] as const;

/**
 * The election's record: it says which candidate holds the current term, or that the last term ended cleanly. It is the
 * data of the election's own node. Only claims and releases write it. A release makes it vacant, or held by the
 * successor. The node's stat says when it was written (`mtime`).
 */
export type ElectionRecord =
  | {
      readonly state: 'vacant';
      readonly term: number;
    }
  | {
      readonly state: 'held';
      readonly term: number;
      /** The id of the leader, if the client that wrote the record knew it. The leader's node has it, too; nothing depends on this copy. */
      readonly id?: string;
      /** The name of the leader's node in the queue. */
      readonly node: string;
      /** How long the leader's lease lasts at most, in milliseconds: a candidate that finds the node gone waits longer. */
      readonly leaseMs: number;
      /** Other clients may not say it. No candidate decides by it. */
      readonly began?: Beginning;
    };

export type HeldRecord = Extract<ElectionRecord, { state: 'held' }>;

/** Data that can't be read as a record. */
export interface UnreadableRecord {
  readonly state: 'unreadable';
  /** Whether there are no data: then no term has begun with that write, by any release of Conclave. */
  readonly isEmpty: boolean;
  /** The format of another release of Conclave, if the data name one. */
  readonly format?: number;
}

/** The result of reading the node. */
export type ReadRecord = ElectionRecord | UnreadableRecord;

const FORMAT = 1;
/** No session timeout is longer, so no leader has written a record with a longer lease. */
export const LONGEST_LEASE_MS = 24 * 60 * 60 * 1000;

export function serializeRecord(record: ElectionRecord): Buffer {
  return Buffer.from(JSON.stringify({ format: FORMAT, ...record }));
}

/**
 * Reads a record. A node without data that was never written, at version 0, is a new election: vacant, term 0. Any client
 * may have written the node: data that isn't exactly a record is unreadable, and counts as held.
 */
export function parseRecord(data: Buffer, version: number): ReadRecord {
  const unreadable: UnreadableRecord = { state: 'unreadable', isEmpty: data.length === 0 };
  if (unreadable.isEmpty) return version === 0 ? { state: 'vacant', term: 0 } : unreadable;
  const value = parseJsonObject(data);
  if (value === undefined) return unreadable;
  if (value.format !== FORMAT)
    return typeof value.format === 'number' ? { ...unreadable, format: value.format } : unreadable;
  const { state, term, id, node, leaseMs } = value;
  const began = BEGINNINGS.find((each) => each === value.began);
  if (!isTerm(term)) return unreadable;
  if (state === 'vacant') return { state, term };
  if (state !== 'held') return unreadable;
  if (id !== undefined && typeof id !== 'string') return unreadable;
  if (!isNode(node)) return unreadable;
  if (!isLease(leaseMs)) return unreadable;
  const known = { ...(id !== undefined && { id }), ...(began !== undefined && { began }) };
  return { state, term, ...known, node, leaseMs };
}

/** Whether a lease may have this length, in milliseconds. */
export function isLease(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && value <= LONGEST_LEASE_MS;
}

function isNode(value: unknown): value is string {
  return typeof value === 'string' && parseEntry(value) !== undefined;
}

function isTerm(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export type SeenRecord<R extends ReadRecord = ReadRecord> = Seen<R>;
