import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import type { QueueEntry } from './names-and-order.js';

/** Which contenders must be gone before another one holds. Only this rule distinguishes the kinds of locks. */
export interface TurnRule {
  /** Whether a contender ahead in the queue blocks. */
  blocks(entry: QueueEntry): boolean;
  /** How many blocking contenders may be left: the number of seats less one. */
  readonly capacity: number;
  /** Whether a node that blocked has stopped blocking, by its data. @default it never stops */
  noLongerBlocks?(data: Buffer): boolean;
  /** Aborts when this rule is no longer right. Then the lock has to be asked for the rule again. */
  readonly outdated?: Abortable;
}

/** All contenders ahead must be gone: a lock, or an election. */
export const EXCLUSIVE: TurnRule = { blocks: () => true, capacity: 0 };

/**
 * Which nodes to watch, to be notified in time and as rarely as possible: the nearest ones, one more than may be left. The
 * unwatched nodes are one fewer than have to go. So when enough nodes have gone, a watched one is among them, whichever they
 * were. For a lock only the predecessor is watched. For n seats n nodes are watched, so it doesn't matter which holder leaves.
 *
 * @param blocking - the entries that block, the nearest last. There are more than may be left
 */
export function toWatch(blocking: readonly QueueEntry[], { capacity }: TurnRule): readonly QueueEntry[] {
  return blocking.slice(-(capacity + 1));
}

/**
 * Whether a node that blocks may be ahead when these have gone, though none was listed. Since Curator 5.5 a writer that goes on to
 * read creates a reader's node with its own number, and deletes the writer's node afterwards. So once a writer has gone, only a
 * listing shows who is ahead, unless readers don't block.
 */
export function mayLeaveReader(gone: readonly QueueEntry[], rule: TurnRule): boolean {
  return gone.some((entry) => entry.purpose === 'write' && rule.blocks({ ...entry, purpose: 'read' }));
}
