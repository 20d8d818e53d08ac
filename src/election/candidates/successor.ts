import type { QueueEntry } from '../../queue/names-and-order.js';
import type { NodeData } from '../../session/protocol/records.js';
import { parseRequest } from '../requests/candidate-request.js';
import { candidateIdOf } from './candidate.js';
import { type CandidateLease, leaseOf } from './candidate-uuid.js';

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
