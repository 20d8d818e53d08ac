import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isBegun } from '../../../../src/cli/lead-then-run/once-firing.js';

const HOUR = 3600_000;
const NOON = Date.UTC(2026, 10, 21, 12);
const last = (at: number) => ({ at, id: 'n', token: '7' });
const firing = (at: number, everyMs = HOUR) => ({ log: '/jobs/cron', at, everyMs });

describe('a firing of cron', () => {
  it.each([
    ['no run', undefined, false],
    ['a run in the period before', NOON - HOUR, false],
    ['a run half a period ago', NOON - HOUR / 2, false],
    ['a run less than half a period ago', NOON - HOUR / 2 + 1, true],
    ['a run on a machine whose clock is ahead', NOON + HOUR / 2, true],
    ['a run on a machine whose clock is further ahead', NOON + HOUR / 2 + 1, false],
  ])('after %s: %s', (_, at, begun) => {
    expect(isBegun(firing(NOON), at === undefined ? undefined : last(at), NOON)).toBe(begun);
  });

  it('has exactly one run, in any order of the machines, if clocks and starts differ by less than half the period', () => {
    const everyMs = fc.integer({ min: 60_000, max: 24 * HOUR });
    const machines = everyMs.chain((every) =>
      fc.record({
        every: fc.constant(every),
        // How late the process starts by the machine's own clock, and how far that clock is ahead.
        starts: fc.array(
          fc.array(
            fc.record({
              delay: fc.integer({ min: 0, max: Math.floor(every / 4) - 1 }),
              ahead: fc.integer({ min: 0, max: Math.floor(every / 4) - 1 }),
            }),
            { minLength: 1, maxLength: 4 },
          ),
          { minLength: 1, maxLength: 6 },
        ),
      }),
    );
    fc.assert(
      fc.property(machines, ({ every, starts }) => {
        let record: ReturnType<typeof last> | undefined;
        const runs = starts.map(() => 0);
        for (const [nth, processes] of starts.entries()) {
          const atTrueTime = ({ delay, ahead }: { delay: number; ahead: number }) => delay - ahead;
          for (const process of [...processes].sort((a, b) => atTrueTime(a) - atTrueTime(b))) {
            const at = NOON + nth * every + process.delay;
            if (isBegun(firing(at, every), record, at)) continue;
            record = last(at);
            runs[nth] = (runs[nth] ?? 0) + 1;
          }
        }
        expect(runs).toEqual(starts.map(() => 1));
      }),
    );
  });
});
