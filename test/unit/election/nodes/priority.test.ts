import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { candidateUuid, priorityOf } from '../../../../src/election/nodes/candidate-uuid.js';
import { preferredSuccessor } from '../../../../src/election/nodes/priority.js';
import { entryPrefix, parseEntry, type QueueEntry } from '../../../../src/lock/queue/order.js';

function entryOf(uuid: string, sequence = 0): QueueEntry {
  return parseEntry(`${entryPrefix(uuid)}${String(sequence).padStart(10, '0')}`) as QueueEntry;
}

const priority = fc.integer({ min: 0, max: 255 });

describe('a priority', () => {
  it('puts the highest before the first in the queue, the earliest among equals, and changes nothing otherwise', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.uuid({ version: 4 }), priority), { minLength: 1 }), (given) => {
        const queue = given.map(([uuid, value], index) =>
          entryOf(candidateUuid(uuid, value, { leaseMs: 2000 }), index),
        );
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
