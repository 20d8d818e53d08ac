import { parseJsonObject } from '../../platform/json.js';
import type { QueueEntry } from '../../queue/names-and-order.js';
import { priorityOf } from './candidate-uuid.js';

/** A candidate in the queue of an election. */
export interface Candidate {
  /** The id that the candidate gives itself. Several candidates may have the same id: `node` tells them apart. */
  readonly id: string;
  /** The name of its node in the queue. */
  readonly node: string;
  /** How many candidates have to go before this one leads: 0 for a leader, 1 for the next in line. */
  readonly position: number;
  /** From 0 to 255: of those that wait, the candidate with the highest priority leads next. */
  readonly priority: number;
  /** The number of its node, from a signed 32-bit counter that wraps round. Don't use it as a fencing token. */
  readonly sequence: number;
  /** What the candidate advertises: the string or bytes that it was given. Another client has written that, so don't trust it. */
  readonly data: string | Uint8Array | undefined;
  /** Whether its `prepare` has succeeded. Not given by a candidate without that option. Another client has written that, too. */
  readonly prepared?: boolean;
}

/** The data of a candidate's node: its id, what it advertises, with bytes in base 64, and whether it is prepared. */
export function serializeCandidate(
  id: string,
  data: string | Uint8Array | undefined,
  prepared?: boolean,
): Buffer {
  const advertised =
    typeof data === 'string' ? { data } : { base64: data && Buffer.from(data).toString('base64') };
  return Buffer.from(JSON.stringify({ id, ...advertised, prepared }));
}

/** The id in the data of a candidate's node; `undefined` for another client's node. */
export function candidateIdOf(data: Buffer): string | undefined {
  const id = parseJsonObject(data)?.id;
  return typeof id === 'string' ? id : undefined;
}

/** Whether a candidate is prepared, by the data of its node; `undefined` if it doesn't prepare. */
export function preparedOf(data: Buffer): boolean | undefined {
  const prepared = parseJsonObject(data)?.prepared;
  return typeof prepared === 'boolean' ? prepared : undefined;
}

/** Reads a candidate's node. A node of another client (Curator) has other data, and its uuid serves as the id. */
export function parseCandidate(entry: QueueEntry, position: number, data: Buffer): Candidate {
  const { node, sequence } = entry;
  const place = { node, position, priority: priorityOf(entry), sequence };
  const value = parseJsonObject(data);
  if (typeof value?.id !== 'string')
    return { id: entry.id, ...place, data: data.length > 0 ? data.toString('utf8') : undefined };
  const prepared = preparedOf(data);
  const known = { id: value.id, ...place, ...(prepared !== undefined && { prepared }) };
  if (typeof value.base64 === 'string')
    return { ...known, data: new Uint8Array(Buffer.from(value.base64, 'base64')) };
  return { ...known, data: typeof value.data === 'string' ? value.data : undefined };
}
