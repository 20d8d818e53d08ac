import { describe, expect, it } from 'vitest';
import { PacedQueue } from '../../../../src/platform/async/paced-queue.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';
import { settle } from '../../../support/waiting.mjs';

/** A queue whose items take 1 ms each, half of it in a microtask. `log` has when each begins and ends. */
function setUp() {
  const clock = new TestClock();
  const log: string[] = [];
  const queue = new PacedQueue<number>(clock, (item) => {
    clock.jump(0.5);
    log.push(`${item} begins`);
    queueMicrotask(() => {
      clock.jump(0.5);
      log.push(`${item} ends`);
    });
  });
  const both = (items: readonly number[]) => items.flatMap((item) => [`${item} begins`, `${item} ends`]);
  return { log, queue, both };
}

describe('a paced queue', () => {
  it('hands on at once what comes alone', async () => {
    const { log, queue } = setUp();
    queue.add(1);
    expect(log).toEqual(['1 begins']);
    await settle();
    queue.add(2);
    expect(log.at(-1)).toBe('2 begins');
  });

  it('hands on many in their order, those of 5 ms in each turn, and none before what the former one causes', async () => {
    const { log, queue, both } = setUp();
    const items = Array.from({ length: 12 }, (_, at) => at);
    // Added in one turn, each in a callback of its own, as by a `MessagePort`.
    for (const item of items) setImmediate(() => queue.add(item));
    const ended: number[] = [];
    for (let turn = 0; turn < 3; turn++) {
      await settle();
      ended.push(log.length / 2);
    }
    expect(log).toEqual(both(items));
    expect(ended).toEqual([5, 10, 12]);
  });
});
