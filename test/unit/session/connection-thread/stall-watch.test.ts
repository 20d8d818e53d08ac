import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../../src/platform/time/clock.js';
import { ShownTurns, StallWatch } from '../../../../src/session/connection-thread/stall-watch.js';

/** A main thread whose loop turns when the test says so, and the watch of another thread. */
function setUp(maxStallMs: number) {
  const time = { ms: 0 };
  const sources = { monotonicMs: () => time.ms };
  let next: { readonly at: number; readonly run: () => void } | undefined;
  const clock = {
    sources,
    after: (ms: number, run: () => void) => {
      next = { at: time.ms + ms, run };
      return {
        clear: () => {
          next = undefined;
        },
      };
    },
  } as unknown as Clock;
  const shown = new ShownTurns(clock, maxStallMs);
  const watch = new StallWatch(shown.memory, sources);
  /** The loop turns until then, and stands still from then on. */
  const turnUntil = (at: number) => {
    while (next !== undefined && next.at <= at) {
      time.ms = next.at;
      next.run();
    }
    time.ms = at;
  };
  const turnsAt = (at: number) => {
    time.ms = at;
    return watch.turns();
  };
  return { shown, turnUntil, turnsAt };
}

describe('the watch for stalls', () => {
  it('finds the loop turning until maxStallMs after its last turn, and standing still from an eighth of that later, or a second', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 101, max: 100_000 }),
        fc.double({ min: 0, max: 3, noNaN: true }),
        (maxStallMs, turnsFor) => {
          const { turnUntil, turnsAt } = setUp(maxStallMs);
          const lastTurn = turnsFor * maxStallMs;
          turnUntil(lastTurn);
          expect(turnsAt(lastTurn + maxStallMs - 1e-3)).toBe(true);
          expect(turnsAt(lastTurn + Math.min((9 / 8) * maxStallMs, maxStallMs + 1000) + 1e-3)).toBe(false);
        },
      ),
    );
  });

  it('finds the loop turning again as soon as it turns', () => {
    const { turnUntil, turnsAt } = setUp(1000);
    expect(turnsAt(1124)).toBe(true);
    expect(turnsAt(5000)).toBe(false);
    expect(turnsAt(6000)).toBe(false);
    turnUntil(6000);
    expect(turnsAt(7124)).toBe(true);
    expect(turnsAt(7125)).toBe(false);
  });

  it('counts from the turn, though the thread has stood still itself and looks for the first time since', () => {
    const { turnUntil, turnsAt } = setUp(1000);
    turnUntil(500);
    expect(turnsAt(1625)).toBe(false);
  });
});

describe('the turns of the main thread', () => {
  it.each([
    [800, 100],
    [60_000, 1000],
  ])(
    'are shown every eighth of maxStallMs, and at least each second: of %i ms every %i ms',
    (maxStallMs, everyMs) => {
      const { turnUntil, turnsAt } = setUp(maxStallMs);
      turnUntil(everyMs - 1);
      expect(turnsAt(maxStallMs + everyMs)).toBe(false);
      turnUntil(everyMs);
      expect(turnsAt(maxStallMs + everyMs)).toBe(true);
      expect(turnsAt(maxStallMs + 2 * everyMs)).toBe(false);
    },
  );

  it('are shown no longer after the end', () => {
    const { shown, turnUntil, turnsAt } = setUp(800);
    turnUntil(150);
    shown.stop();
    turnUntil(1000);
    expect(turnsAt(1000)).toBe(false); // The turn at 100 ms was the last one that was shown.
  });
});
