import type { QueueEntry } from '../../lock/queue/order.js';
import { parseJsonObject } from '../../platform/json.js';

/** One that stands in the queue of an election. */
export interface Candidate {
  /** What it calls itself. Others may call themselves the same: `node` is what tells candidates apart. */
  readonly id: string;
  /** The name of its node in the queue. */
  readonly node: string;
  /** How many are ahead of it in the queue; 0 for who leads, wherever it stands. */
  readonly position: number;
  /** Its node's number: a signed 32-bit counter that wraps round. Not a fencing token. */
  readonly sequence: number;
  /** What it tells about itself, as it was given; written by somebody else, so don't trust it. */
  readonly data: string | Uint8Array | undefined;
}

/** A candidate's node: its id, and what it advertises. Bytes travel in base 64. */
export function serializeCandidate(id: string, data: string | Uint8Array | undefined): Buffer {
  if (data === undefined) return Buffer.from(JSON.stringify({ id }));
  if (typeof data === 'string') return Buffer.from(JSON.stringify({ id, data }));
  return Buffer.from(JSON.stringify({ id, base64: Buffer.from(data).toString('base64') }));
}

/** Reads a candidate's node. One of another client (Curator's) has data of its own kind, and its uuid for an id. */
export function parseCandidate(entry: QueueEntry, position: number, data: Buffer): Candidate {
  const { node, sequence } = entry;
  const place = { node, position, sequence };
  const value = parseJsonObject(data);
  if (typeof value?.id !== 'string')
    return { id: entry.id, ...place, data: data.length > 0 ? data.toString('utf8') : undefined };
  if (typeof value.base64 === 'string')
    return { id: value.id, ...place, data: new Uint8Array(Buffer.from(value.base64, 'base64')) };
  return { id: value.id, ...place, data: typeof value.data === 'string' ? value.data : undefined };
}
