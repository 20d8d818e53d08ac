import type { Abortable } from '../../platform/async/lazy-abort.js';
import type { QueueEntry } from './order.js';

/** Which contenders must be gone before another one holds: all that tells one kind of lock from another. */
export interface TurnRule {
  /** Whether a contender ahead in the queue blocks. */
  blocks(entry: QueueEntry): boolean;
  /** How many of those that block may be left: the number of seats, less the contender's own. */
  readonly capacity: number;
  /** Whether a node that blocked has stopped, by its data. @default never */
  noLongerBlocks?(data: Buffer): boolean;
  /** Aborts when this rule is no longer true: then the lock has to be asked for it again. */
  readonly outdated?: Abortable;
}

/** All contenders ahead must be gone: a lock, or an election with one leader. */
export const EXCLUSIVE: TurnRule = { blocks: () => true, capacity: 0 };

/**
 * Which nodes to watch, so as to be notified in time and as rarely as possible: the nearest, one more than may be left. When
 * as many have gone as have to, one of these is among them, whichever they were: those that aren't watched are one too few.
 * For a lock it is the predecessor; for n seats there are n, so that it doesn't matter which of the holders leaves.
 *
 * @param blocking - the entries that block, the nearest last; more than may be left
 */
export function toWatch(blocking: readonly QueueEntry[], { capacity }: TurnRule): readonly QueueEntry[] {
  return blocking.slice(-(capacity + 1));
}
