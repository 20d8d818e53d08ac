import type { QueueEntry } from '../../lock/queue/order.js';
import { type Access, PERMISSION } from '../../session/protocol/acl.js';
import type { NodeData, TransactionPart } from '../../session/protocol/records.js';
import { candidateIdOf } from '../nodes/candidate.js';
import { parseRequest, withRequest } from '../nodes/candidate-request.js';
import { type CandidateLease, leaseOf } from '../nodes/candidate-uuid.js';
import { serializeRecord } from '../nodes/record.js';
import { signalNodeOf } from '../nodes/signal-node.js';

/** The first in the queue but for the leader: it is notified of the leader's end, and reads the record. Its name says enough. */
export interface FirstSuccessor extends CandidateLease {
  readonly isFirst: true;
  /** The name of its node. */
  readonly node: string;
}

/** Another one, as its node was read: it learns that it leads from a mark there. */
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

const LONGEST_DATA_BYTES = 100_000; // A candidate advertises 16 KiB at most. What is much longer can't be written with a mark.

/** Any other; `undefined`, too, for one that leads or has led: a node does so once. */
export function markedSuccessor(entry: QueueEntry, { data, stat }: NodeData): MarkedSuccessor | undefined {
  if (data.length > LONGEST_DATA_BYTES) return undefined;
  const lease = leaseOf(entry);
  const id = candidateIdOf(data);
  if (lease === undefined || id === undefined || parseRequest(data)?.kind === 'lead') return undefined;
  return { ...lease, isFirst: false, id, node: entry.node, data, version: stat.version };
}

/** A term, and the record at which it is written. */
export interface HandedTerm {
  readonly record: string;
  /** The record's version before. */
  readonly version: number;
  readonly term: number;
}

/**
 * The writes that tell the first in the queue that it leads. They come before the deletion of the leader's node, which it is told of
 * as well. It learns that it leads from that, too, if it doesn't wait for the signal.
 */
export function signalParts(queue: string, successor: Successor, recordVersion: number): TransactionPart[] {
  if (!successor.isFirst) return [];
  const path = `${queue}/${signalNodeOf(successor.node, recordVersion + 1)}`;
  return [
    { kind: 'create', path, access: READABLE },
    { kind: 'delete', path },
  ];
}

// Servers tell of a node to those that may read it. Each candidate may.
const READABLE: Access = [{ scheme: 'world', id: 'anyone', permissions: PERMISSION.read }];

/**
 * The writes that make a candidate the holder of a term. They are refused if it has left the queue. One that isn't the first learns
 * of it from a mark on its own node; they are refused, too, if it has changed that since it was read. See docs/design/handover.md.
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
  const marked = withRequest(successor.data, { kind: 'lead', term }) as Buffer; // Only a candidate's node makes a successor.
  return { kind: 'set', path, data: marked, version: successor.version };
}
