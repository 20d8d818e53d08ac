import type { Abortable } from '../../platform/async/lazy-abort.js';
import type { QueueEntry } from './order.js';

/** Who must be gone before a contender holds: all that tells one lock from another. */
export interface TurnRule {
  /** Whether one that is ahead in the queue stands in the way. */
  blocks(entry: QueueEntry): boolean;
  /** How many of those that stand in the way may be left: the number of seats, less one's own. */
  readonly capacity: number;
  /** Whether a node that stood in the way doesn't any more, because of what it says. @default it never does */
  noLongerBlocks?(data: Buffer): boolean;
  /** Aborts when this isn't true any more: then it has to be asked for again. */
  readonly outdated?: Abortable;
}

/** Everybody ahead must be gone: a lock, or an election with one leader. */
export const EXCLUSIVE: TurnRule = { blocks: () => true, capacity: 0 };

/**
 * Which nodes to watch, so as to be woken in time and by as few as can be: the nearest, one more than may be left. If as
 * many have gone as have to, one of these is among them, whichever they were: those that aren't watched are fewer than
 * that. For a lock it is the one next ahead; for n seats it is n, so that it doesn't matter which of the holders leaves.
 *
 * @param inTheWay - those that stand in the way, the nearest last; more than may be left
 */
export function toWatch(
  inTheWay: readonly QueueEntry[],
  { capacity: spare }: TurnRule,
): readonly QueueEntry[] {
  return inTheWay.slice(-(spare + 1));
}
