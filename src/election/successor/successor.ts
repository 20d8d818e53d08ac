import type { QueueEntry } from '../../lock/queue/order.js';
import type { NodeData, TransactionPart } from '../../session/protocol/records.js';
import { candidateIdOf } from '../nodes/candidate.js';
import { parseRequest, withRequest } from '../nodes/candidate-request.js';
import { type CandidateLease, leaseOf } from '../nodes/candidate-uuid.js';
import { serializeRecord } from '../nodes/record.js';

/**
 * The first in the queue apart from the leader. The servers notify it of the leader's end, and it reads the record. Its
 * name contains all that a record needs.
 */
export interface FirstSuccessor extends CandidateLease {
  readonly isFirst: true;
  /** The name of its node. */
  readonly node: string;
}

/** Any other candidate, with its node as it was read. A mark on its node tells it that it leads. */
export interface MarkedSuccessor extends CandidateLease {
  readonly isFirst: false;
  readonly id: string;
  /** The name of its node. */
  readonly node: string;
  readonly data: Buffer;
  /** The version of its node. */
  readonly version: number;
}

/** A candidate to which a term can be handed over. */
export type Successor = FirstSuccessor | MarkedSuccessor;

/** The first in the queue as a successor; `undefined` for another client's node, which wouldn't lead. */
export function firstSuccessor(entry: QueueEntry): FirstSuccessor | undefined {
  const lease = leaseOf(entry);
  return lease && { ...lease, isFirst: true, node: entry.node };
}

const LONGEST_DATA_BYTES = 100_000; // A candidate advertises 16 KiB at most. Much longer data couldn't be written with a mark.

/** Any other candidate as a successor; also `undefined` for one that leads or has led, since a node leads only once. */
export function markedSuccessor(entry: QueueEntry, { data, stat }: NodeData): MarkedSuccessor | undefined {
  if (data.length > LONGEST_DATA_BYTES) return undefined;
  const lease = leaseOf(entry);
  const id = candidateIdOf(data);
  if (lease === undefined || id === undefined || parseRequest(data)?.kind === 'lead') return undefined;
  return { ...lease, isFirst: false, id, node: entry.node, data, version: stat.version };
}

/** A term that is handed over, and the record in which that is written. */
export interface HandedTerm {
  readonly record: string;
  /** The record's version before the write. */
  readonly version: number;
  readonly term: number;
}

/**
 * The writes that make a candidate the holder of a term. The servers refuse them if the candidate has left the queue. A
 * candidate that isn't the first learns of the term from a mark on its own node. Then the servers also refuse the
 * writes if that node has changed since it was read. See docs/design/handover.md.
 */
export function handoverParts(
  queue: string,
  successor: Successor,
  { record, version, term }: HandedTerm,
): TransactionPart[] {
  const { node, leaseMs, takeover } = successor;
  const known = !successor.isFirst && { id: successor.id };
  const way = takeover && { takeover };
  const held = { state: 'held', term, ...known, node, leaseMs, ...way } as const;
  return [
    successorPart(`${queue}/${node}`, successor, term),
    { kind: 'set', path: record, data: serializeRecord(held), version },
  ];
}

function successorPart(path: string, successor: Successor, term: number): TransactionPart {
  if (successor.isFirst) return { kind: 'check', path };
  const marked = withRequest(successor.data, { kind: 'lead', term }) as Buffer; // Never `undefined`: a successor was made of a candidate's node.
  return { kind: 'set', path, data: marked, version: successor.version };
}
