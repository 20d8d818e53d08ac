import type { QueueEntry } from '../../lock/queue/order.js';
import type { NameTest } from '../../session/protocol/child-names.js';

/** The highest priority that a candidate may have; 0 is the lowest, and the default. */
export const HIGHEST_PRIORITY = 255;

/**
 * A uuid that carries a priority: of version 8, which RFC 9562 leaves to its users, with the priority in two digits of its
 * third group. So a listing of the queue, which is one request, shows all priorities. Priority 0 leaves the uuid as it is.
 */
export function uuidWithPriority(uuid: string, priority: number): string {
  if (priority === 0) return uuid;
  const groups = uuid.split('-');
  groups[2] = `8${groups[2]?.[1]}${priority.toString(16).padStart(2, '0')}`;
  return groups.join('-');
}

// After `_c_` and two groups of a uuid that is written with hyphens.
const VERSION_AT = 17;
const EIGHT = 0x38;

/** Whether a candidate may have a priority, by one character of its name: parsing a thousand names takes long. */
export const mayHavePriority: NameTest = (name, start, end) =>
  start + VERSION_AT < end && name[start + VERSION_AT] === EIGHT;

/** The priority in a contender's uuid. Other clients' uuids are of other versions, or are written without hyphens. */
export function priorityOf({ id }: QueueEntry): number {
  const version8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]([0-9a-f]{2})-/.exec(id);
  return version8 === null ? 0 : Number.parseInt(version8[1] as string, 16);
}

/** The entry to lead next, of those that may: the first of the highest priority; `undefined` if that is the first anyway. */
export function preferredSuccessor(queue: readonly QueueEntry[]): QueueEntry | undefined {
  const highest = queue.reduce((most, entry) => Math.max(most, priorityOf(entry)), 0);
  const preferred = queue.find((entry) => priorityOf(entry) === highest);
  return preferred === queue[0] ? undefined : preferred;
}
