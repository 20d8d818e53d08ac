import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QueueEntry } from '../../../../src/lock/queue/order.js';
import { EXCLUSIVE, toWatch } from '../../../../src/lock/queue/turn-rule.js';

function entries(count: number): QueueEntry[] {
  return Array.from({ length: count }, (_, index) => {
    return { node: `n${index}`, id: `i${index}`, purpose: 'lock', sequence: index };
  });
}

describe('whoever is to be alone', () => {
  it('has everybody in its way who is ahead, and can spare none of them', () => {
    expect(entries(3).filter((entry) => EXCLUSIVE.blocks(entry))).toEqual(entries(3));
    expect(EXCLUSIVE.capacity).toBe(0);
  });
});

describe('what a waiter watches', () => {
  it('is the one next ahead, if everybody ahead has to go', () => {
    expect(toWatch(entries(5), EXCLUSIVE)).toEqual(entries(5).slice(4));
  });

  it('has one among those that leave when its turn comes, whoever leaves and in whatever order', () => {
    const queue = fc.record({
      seats: fc.integer({ min: 1, max: 8 }),
      waiting: fc.integer({ min: 1, max: 12 }),
    });
    fc.assert(
      fc.property(queue, fc.infiniteStream(fc.nat()), ({ seats, waiting }, choices) => {
        const spare = seats - 1;
        let inTheWay = entries(spare + waiting);
        const watched = new Set(toWatch(inTheWay, { ...EXCLUSIVE, capacity: spare }));
        let woken = false;
        while (inTheWay.length > spare) {
          const leaving = inTheWay[(choices.next().value as number) % inTheWay.length] as QueueEntry;
          woken ||= watched.has(leaving);
          inTheWay = inTheWay.filter((entry) => entry !== leaving);
        }
        expect(woken).toBe(true);
        expect(watched.size).toBeLessThanOrEqual(seats); // No more than that, however many are ahead.
      }),
    );
  });
});
