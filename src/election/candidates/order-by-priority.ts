import type { QueueEntry } from '../../queue/names-and-order.js';
import type { Candidate } from './candidate.js';
import { priorityOf } from './candidate-uuid.js';

/** The highest priority that a candidate may have; 0 is the lowest, and the default. */
export const HIGHEST_PRIORITY = 255;

/**
 * The entry that leads next by its priority: the first one with the highest priority. `undefined` if that is the first in the queue anyway.
 */
export function preferredSuccessor(queue: readonly QueueEntry[]): QueueEntry | undefined {
  const highest = queue.reduce((most, entry) => Math.max(most, priorityOf(entry)), 0);
  const preferred = queue.find((entry) => priorityOf(entry) === highest);
  return preferred === queue[0] ? undefined : preferred;
}

/**
 * Candidates in the order in which they lead: the leader, then those with the highest priority; among equals the queue decides.
 * @param queue - the candidates in the order of the queue
 * @param leader - the node of the leader, if there is one
 */
export function inOrderOfLeading<T extends Pick<Candidate, 'node' | 'priority'>>(
  queue: readonly T[],
  leader: string | undefined,
): T[] {
  const rank = ({ node, priority }: T) => (node === leader ? HIGHEST_PRIORITY + 1 : priority);
  return queue.toSorted((one, other) => rank(other) - rank(one));
}
