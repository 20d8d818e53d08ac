import { describe, expect, it } from 'vitest';
import { PacedQueue } from '../../../../src/platform/async/paced-queue.js';
import { settle } from '../../../support/waiting.mjs';

/** A queue whose items take 1 ms each, half of it in a microtask. `log` has when each begins and ends. */
function setUp() {
  const log: string[] = [];
  let nowMs = 0;
  let turn: () => void = () => undefined;
  const clock = {
    now: () => nowMs,
    date: () => new Date(0),
    after: (_: number, task: () => void) => {
      turn = task;
      return { clear: () => undefined };
    },
  };
  const queue = new PacedQueue<number>(clock, (item) => {
    nowMs += 0.5;
    log.push(`${item} begins`);
    queueMicrotask(() => {
      nowMs += 0.5;
      log.push(`${item} ends`);
    });
  });
  /** Runs the next timer. */
  const nextTurn = async () => {
    turn();
    await settle();
  };
  return { log, queue, nextTurn };
}

describe('a paced queue', () => {
  it('hands on at once what comes alone', async () => {
    const { log, queue, nextTurn } = setUp();
    queue.add(1);
    expect(log).toEqual(['1 begins']);
    await nextTurn();
    queue.add(2);
    expect(log.at(-1)).toBe('2 begins');
  });

  it('hands on many in their order, those of 5 ms in each turn, and none before what the former one causes', async () => {
    const { log, queue, nextTurn } = setUp();
    const items = Array.from({ length: 12 }, (_, at) => at);
    // Each in a callback of its own, as by a `MessagePort`.
    for (const item of items) setImmediate(() => queue.add(item));
    await settle();
    const ended: number[] = [];
    for (let turn = 0; turn < 3; turn++) {
      ended.push(log.length / 2);
      await nextTurn();
    }
    expect(ended).toEqual([5, 10, 12]);
    expect(log).toEqual(items.flatMap((item) => [`${item} begins`, `${item} ends`]));
  });
});
