import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QueueEntry } from '../../../src/queue/names-and-order.js';
import { EXCLUSIVE, mayLeaveReader, toWatch } from '../../../src/queue/turn-rule.js';

function entries(count: number): QueueEntry[] {
  return Array.from({ length: count }, (_, index) => {
    return { node: `n${index}`, id: `i${index}`, purpose: 'lock', sequence: index };
  });
}

it('an exclusive lock is blocked by every contender ahead, and has capacity for none of them', () => {
  expect(entries(3).filter((entry) => EXCLUSIVE.blocks(entry))).toEqual(entries(3));
  expect(EXCLUSIVE.capacity).toBe(0);
});

describe('what a waiter watches', () => {
  it('is the predecessor, if all contenders ahead have to go', () => {
    expect(toWatch(entries(5), EXCLUSIVE)).toEqual(entries(5).slice(4));
  });

  it('has one among those that leave when its turn comes, whichever leave and in whatever order', () => {
    const queue = fc.record({
      seats: fc.integer({ min: 1, max: 8 }),
      waiting: fc.integer({ min: 1, max: 12 }),
    });
    fc.assert(
      fc.property(queue, fc.infiniteStream(fc.nat()), ({ seats, waiting }, choices) => {
        const capacity = seats - 1;
        let blocking = entries(capacity + waiting);
        const watched = new Set(toWatch(blocking, { ...EXCLUSIVE, capacity }));
        let woken = false;
        while (blocking.length > capacity) {
          const leaving = blocking[(choices.next().value as number) % blocking.length] as QueueEntry;
          woken ||= watched.has(leaving);
          blocking = blocking.filter((entry) => entry !== leaving);
        }
        expect(woken).toBe(true);
        expect(watched.size).toBeLessThanOrEqual(seats); // However many contenders are ahead.
      }),
    );
  });
});

describe('a node that goes', () => {
  const gone = (purpose: QueueEntry['purpose']) => entries(3).map((entry) => ({ ...entry, purpose }));

  it('may leave a reader in its place if it is a writer, which matters only where readers block', () => {
    expect(mayLeaveReader(gone('write'), EXCLUSIVE)).toBe(true);
    expect(mayLeaveReader(gone('lock'), EXCLUSIVE)).toBe(false);
    expect(mayLeaveReader(gone('read'), EXCLUSIVE)).toBe(false);
    expect(mayLeaveReader(gone('write'), { blocks: ({ purpose }) => purpose !== 'read', capacity: 0 })).toBe(
      false,
    );
  });
});
