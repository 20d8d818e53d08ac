import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { candidateUuid, priorityOf } from '../../../../src/election/candidates/candidate-uuid.js';
import {
  inOrderOfLeading,
  preferredSuccessor,
} from '../../../../src/election/candidates/order-by-priority.js';
import { entryPrefix, parseEntry, type QueueEntry } from '../../../../src/queue/names-and-order.js';

function entryOf(uuid: string, sequence = 0): QueueEntry {
  return parseEntry(`${entryPrefix(uuid)}${String(sequence).padStart(10, '0')}`) as QueueEntry;
}

const priority = fc.integer({ min: 0, max: 255 });

describe('a priority', () => {
  it('puts the highest before the first in the queue, the earliest among equals, and changes nothing otherwise', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.uuid({ version: 4 }), priority), { minLength: 1 }), (given) => {
        const queue = given.map(([uuid, value], index) => entryOf(candidateUuid(uuid, value, 2000), index));
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

  it('puts candidates in the order in which one after the other leads, behind the leader', () => {
    const queued = fc.tuple(fc.array(priority), fc.nat({ max: 9 }));
    fc.assert(
      fc.property(queued, ([priorities, leader]) => {
        const queue = priorities.map((value, index) => {
          const uuid = candidateUuid('00000000-0000-4000-8000-000000000000', value, 2000);
          return { ...entryOf(uuid, index), priority: value };
        });
        const leading = queue.slice(leader, leader + 1);
        const waiting = queue.filter((_, index) => index !== leader);
        const inTurn = [];
        while (waiting.length > 0) {
          const next = preferredSuccessor(waiting) ?? (waiting[0] as QueueEntry);
          inTurn.push(...waiting.splice(waiting.indexOf(next as (typeof waiting)[number]), 1));
        }
        expect(inOrderOfLeading(queue, leading[0]?.node)).toEqual([...leading, ...inTurn]);
      }),
    );
  });
});
