import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  mayHavePriority,
  preferredSuccessor,
  priorityOf,
  uuidWithPriority,
} from '../../../../src/election/nodes/priority.js';
import { entryPrefix, parseEntry, type QueueEntry } from '../../../../src/lock/queue/order.js';
import { childNames } from '../../../support/conclave/child-names.js';

function entryOf(uuid: string, sequence = 0): QueueEntry {
  return parseEntry(`${entryPrefix(uuid)}${String(sequence).padStart(10, '0')}`) as QueueEntry;
}

const priority = fc.integer({ min: 0, max: 255 });

describe('a priority', () => {
  it("is in the contender's uuid, which stays a uuid", () => {
    fc.assert(
      fc.property(fc.uuid({ version: 4 }), priority, (uuid, given) => {
        expect(priorityOf(entryOf(uuidWithPriority(uuid, given)))).toBe(given);
        expect(uuidWithPriority(uuid, given)).toHaveLength(36);
        const { node } = entryOf(uuidWithPriority(uuid, given));
        expect(childNames([node]).strings(mayHavePriority)).toHaveLength(given > 0 ? 1 : 0);
      }),
    );
  });

  it.each([
    ['Curator, a uuid of version 4', '8a7b6c5d-1234-4fff-89ab-0123456789ab'],
    ['go-zookeeper, random digits without hyphens', '8a7b6c5d12348fff89ab0123456789ab'],
  ])('is 0 for a contender of %s', (_, uuid) => {
    expect(priorityOf(entryOf(uuid))).toBe(0);
    expect(uuidWithPriority(uuid, 0)).toBe(uuid); // A candidate without one is as any other.
  });

  it('is not read from a name of another form', () => {
    const id = `x${uuidWithPriority('8a7b6c5d-1234-4fff-89ab-0123456789ab', 7)}`;
    expect(priorityOf({ ...entryOf('8a7b6c5d-1234-4fff-89ab-0123456789ab'), id })).toBe(0);
  });

  it('puts the highest before the first in the queue, the earliest among equals, and changes nothing otherwise', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.uuid({ version: 4 }), priority), { minLength: 1 }), (given) => {
        const queue = given.map(([uuid, value], index) => entryOf(uuidWithPriority(uuid, value), index));
        const chosen = preferredSuccessor(queue) ?? (queue[0] as QueueEntry);
        const better = queue.filter(
          (entry) =>
            priorityOf(entry) > priorityOf(chosen) ||
            (priorityOf(entry) === priorityOf(chosen) && entry.sequence < chosen.sequence),
        );
        expect(better).toEqual([]);
        expect(preferredSuccessor(queue)).not.toBe(queue[0]);
      }),
    );
    expect(preferredSuccessor([])).toBeUndefined();
  });
});
