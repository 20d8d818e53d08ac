import type { QueueEntry } from '../../queue/names-and-order.js';
import type { NodeKind } from './node-kind.js';
import { shownData, shownId } from './read-limits.js';
import type { LockView } from './view-types.js';

export type LockKind = Extract<NodeKind, { readonly capacity: number }>;

/** A contender's node, as it was read once. */
export interface ReadContender {
  readonly entry: QueueEntry;
  readonly data: Buffer;
  /** When it joined, by this process's clock. */
  readonly at: number;
}

/** @param queue - in order */
export function lockViewOf(
  path: string,
  { name, capacity }: LockKind,
  queue: readonly ReadContender[],
): LockView {
  return {
    ...{ path, kind: name, capacity },
    queue: queue.map(({ entry, data, at }) => ({
      node: entry.node,
      // Contenders of Conclave have no data. Other clients write their addresses, for example.
      id: shownId(shownData(data.toString('utf8')) ?? entry.id),
      shared: entry.purpose === 'read',
      since: at,
    })),
    holding: holdersAmong(
      queue.map(({ entry }) => entry),
      capacity,
    ),
  };
}

/** How many of the first in the queue hold: as many as there are seats, or all readers without another contender ahead. */
export function holdersAmong(queue: readonly QueueEntry[], capacity: number): number {
  const readers = queue.findIndex(({ purpose }) => purpose !== 'read');
  return Math.max(Math.min(capacity, queue.length), readers < 0 ? queue.length : readers);
}
