import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CommandTimes,
  killMarginMs,
  nextStep,
  warningMs,
} from '../../../../src/cluster/run-command/command-deadlines.js';

const LEASE_MS = 2000;
const idle: CommandTimes = {
  now: 0,
  leaseEnd: LEASE_MS,
  leaseMs: LEASE_MS,
  graceMs: 10_000,
  endRequestedAt: undefined,
};

const durations = fc.double({ min: 0, max: 1e6, noNaN: true });
const times: fc.Arbitrary<CommandTimes> = fc.record({
  now: durations,
  leaseEnd: durations,
  leaseMs: fc.double({ min: 1, max: 1e6, noNaN: true }),
  graceMs: durations,
  endRequestedAt: fc.option(durations, { nil: undefined }),
});

describe('the end of a command', () => {
  it('is asked for a quarter of a lease before it is brought about, when the lease is not renewed', () => {
    expect([100, 300, 700, LEASE_MS].map(killMarginMs)).toEqual([25, 75, 100, 250]);
    expect(nextStep(idle)).toEqual({ do: 'wait', ms: 1250 });
    expect(nextStep({ ...idle, now: 1249 })).toEqual({ do: 'wait', ms: 1 });
    expect(nextStep({ ...idle, now: 1250 })).toEqual({ do: 'terminate' });
    expect(nextStep({ ...idle, now: 1250, endRequestedAt: 1250 })).toEqual({ do: 'wait', ms: 500 });
    expect(nextStep({ ...idle, now: 1750, endRequestedAt: 1250 })).toEqual({ do: 'kill' });
  });

  it('is asked for later if it needs less time', () => {
    expect(nextStep({ ...idle, graceMs: 100 })).toEqual({ do: 'wait', ms: 1650 });
    expect(nextStep({ ...idle, graceMs: 0 })).toEqual({ do: 'wait', ms: 1750 });
  });

  it('is left the whole grace as long as the lease is renewed', () => {
    const asked = { ...idle, endRequestedAt: 0 };
    expect(nextStep({ ...asked, now: 9000, leaseEnd: 11_000 })).toEqual({ do: 'wait', ms: 1000 });
    expect(nextStep({ ...asked, now: 10_000, leaseEnd: 12_000 })).toEqual({ do: 'kill' });
    expect(nextStep({ ...asked, now: 9000, leaseEnd: 10_000 })).toEqual({ do: 'wait', ms: 750 });
  });

  it('is never later than the lease’s end less a margin, whatever grace was given', () => {
    fc.assert(
      fc.property(times, (given) => {
        const killBy = given.leaseEnd - killMarginMs(given.leaseMs);
        // Goes from step to step, like a timer that is never late.
        let { now, endRequestedAt } = given;
        for (let steps = 0; ; steps++) {
          expect(steps).toBeLessThan(4);
          const step = nextStep({ ...given, now, endRequestedAt });
          if (step.do === 'kill') break;
          if (step.do === 'terminate') endRequestedAt = now;
          else {
            expect(step.ms).toBeGreaterThanOrEqual(0);
            // A sum of floating-point numbers may fall a little short of the step's instant.
            now = Math.max(now + step.ms, now + Number.EPSILON * now * 2);
          }
        }
        expect(now).toBeLessThanOrEqual(Math.max(given.now, killBy) * (1 + 1e-9));
      }),
    );
  });

  it('comes before any other step from that instant on', () => {
    fc.assert(
      fc.property(times, (given) => {
        const killBy = given.leaseEnd - killMarginMs(given.leaseMs);
        if (given.now >= killBy) expect(nextStep(given)).toEqual({ do: 'kill' });
      }),
    );
  });

  it('leaves a leader whose heartbeats come in time alone', () => {
    fc.assert(
      fc.property(fc.double({ min: 100, max: 1e6, noNaN: true }), durations, (leaseMs, graceMs) => {
        // A heartbeat comes every quarter of a lease. The runner sends its result to the keeper at most an eighth of a lease later.
        const now = (leaseMs * 3) / 8;
        expect(nextStep({ now, leaseEnd: leaseMs, leaseMs, graceMs, endRequestedAt: undefined }).do).toBe(
          'wait',
        );
        expect(warningMs(leaseMs, graceMs) + killMarginMs(leaseMs)).toBeLessThanOrEqual(leaseMs / 2);
      }),
    );
  });
});
