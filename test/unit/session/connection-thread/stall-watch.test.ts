import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  looksEveryMs,
  StallWatch,
  TurnCounter,
  turnsEveryMs,
} from '../../../../src/session/connection-thread/stall-watch.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';

describe('the watch for stalls', () => {
  it('finds the loop standing still between 7/8 and 9/8 of maxStallMs after its last turn, and at most a second late', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 101, max: 100_000 }),
        fc.double({ min: 0, max: 3, noNaN: true }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (maxStallMs, turnsFor, phase) => {
          const counter = new SharedArrayBuffer(4);
          const watch = new StallWatch(counter, maxStallMs, 0);
          const turns = turnsEveryMs(maxStallMs);
          const lastTurn = turnsFor * maxStallMs;
          let raisedAt = 0;
          let now = phase * looksEveryMs(maxStallMs);
          for (; ; now += looksEveryMs(maxStallMs)) {
            for (; raisedAt + turns <= Math.min(now, lastTurn); raisedAt += turns)
              Atomics.add(new Int32Array(counter), 0, 1);
            if (!watch.turnsAt(now)) break;
          }
          const afterMs = now - lastTurn;
          expect(afterMs).toBeGreaterThanOrEqual((7 / 8) * maxStallMs - 1e-6);
          expect(afterMs).toBeLessThanOrEqual(Math.min((9 / 8) * maxStallMs, maxStallMs + 1000) + 1e-6);
        },
      ),
    );
  });

  it('finds the loop turning again as soon as the counter is raised', () => {
    const counter = new SharedArrayBuffer(4);
    const watch = new StallWatch(counter, 1000, 0);
    expect(watch.turnsAt(5000)).toBe(false);
    expect(watch.turnsAt(6000)).toBe(false);
    Atomics.add(new Int32Array(counter), 0, 1);
    expect(watch.turnsAt(7000)).toBe(true);
    expect(watch.turnsAt(7999)).toBe(true);
    expect(watch.turnsAt(8000)).toBe(false);
  });

  it('counts the time before its beginning in which the loop has not turned', () => {
    const watch = new StallWatch(new SharedArrayBuffer(4), 1000, -900);
    expect(watch.turnsAt(99)).toBe(true);
    expect(watch.turnsAt(100)).toBe(false);
  });
});

describe('the counter of turns', () => {
  it.each([
    [800, 100],
    [60_000, 1000],
  ])(
    'is raised every eighth of maxStallMs, and at least each second: of %i ms every %i ms',
    async (maxStallMs, everyMs) => {
      const clock = new TestClock();
      const counter = new TurnCounter(clock, maxStallMs);
      const count = () => Atomics.load(new Int32Array(counter.memory), 0);
      counter.start();
      counter.start();
      await clock.advance(everyMs - 1);
      expect(count()).toBe(0);
      await clock.advance(1);
      expect(count()).toBe(1);
      await clock.advance(3 * everyMs);
      expect(count()).toBe(4);
      counter.stop();
      await clock.advance(10 * everyMs);
      expect(count()).toBe(4);
    },
  );
});
