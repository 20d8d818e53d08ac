import type { QueueEntry } from '../../queue/names-and-order.js';
import type { NodeData } from '../../session/protocol/multi-and-stats.js';
import { candidateIdOf } from './candidate.js';
import { leaseOf } from './candidate-uuid.js';

/**
 * The first in the queue apart from the leader. The servers notify it of the leader's end, and it reads the record. Its
 * name contains all that a record needs.
 */
export interface FirstSuccessor {
  readonly isFirst: true;
  /** The name of its node. */
  readonly node: string;
  /** How long its lease lasts at most, in milliseconds. */
  readonly leaseMs: number;
}

/** Any other candidate, with its node as it was read. A mark on its node tells it that it leads. */
export interface MarkedSuccessor extends Omit<FirstSuccessor, 'isFirst'> {
  readonly isFirst: false;
  readonly id: string;
  readonly data: Buffer;
  /** The version of its node, and the transaction that created it. */
  readonly version: number;
  readonly czxid: bigint;
}

/** A candidate to which a term can be handed over. */
export type Successor = FirstSuccessor | MarkedSuccessor;

/** The first in the queue as a successor; `undefined` for another client's node, which wouldn't lead. */
export function firstSuccessor(entry: QueueEntry): FirstSuccessor | undefined {
  const leaseMs = leaseOf(entry);
  return leaseMs === undefined ? undefined : { isFirst: true, node: entry.node, leaseMs };
}

const LONGEST_DATA_BYTES = 100_000; // A candidate advertises 16 KiB at most. Much longer data couldn't be written with a mark.

/** Any other candidate as a successor. */
export function markedSuccessor(entry: QueueEntry, { data, stat }: NodeData): MarkedSuccessor | undefined {
  if (data.length > LONGEST_DATA_BYTES) return undefined;
  const leaseMs = leaseOf(entry);
  const id = candidateIdOf(data);
  if (leaseMs === undefined || id === undefined) return undefined;
  return { isFirst: false, id, node: entry.node, leaseMs, data, version: stat.version, czxid: stat.czxid };
}
