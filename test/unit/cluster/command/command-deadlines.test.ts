import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  killMarginMs,
  nextStep,
  type Situation,
  warningMs,
} from '../../../../src/cluster/command/command-deadlines.js';

const LEASE_MS = 2000;
const idle: Situation = {
  now: 0,
  leaseEnd: LEASE_MS,
  leaseMs: LEASE_MS,
  graceMs: 10_000,
  askedAt: undefined,
};

const durations = fc.double({ min: 0, max: 1e6, noNaN: true });
const situations: fc.Arbitrary<Situation> = fc.record({
  now: durations,
  leaseEnd: durations,
  leaseMs: fc.double({ min: 1, max: 1e6, noNaN: true }),
  graceMs: durations,
  askedAt: fc.option(durations, { nil: undefined }),
});

describe('the end of a command', () => {
  it('is asked for a quarter of a lease before it is brought about, when the lease is not renewed', () => {
    expect([100, 300, 700, LEASE_MS].map(killMarginMs)).toEqual([25, 75, 100, 250]);
    expect(nextStep(idle)).toEqual({ do: 'wait', ms: 1250 });
    expect(nextStep({ ...idle, now: 1249 })).toEqual({ do: 'wait', ms: 1 });
    expect(nextStep({ ...idle, now: 1250 })).toEqual({ do: 'ask' });
    expect(nextStep({ ...idle, now: 1250, askedAt: 1250 })).toEqual({ do: 'wait', ms: 500 });
    expect(nextStep({ ...idle, now: 1750, askedAt: 1250 })).toEqual({ do: 'kill' });
  });

  it('is asked for later if it needs less time', () => {
    expect(nextStep({ ...idle, graceMs: 100 })).toEqual({ do: 'wait', ms: 1650 });
    expect(nextStep({ ...idle, graceMs: 0 })).toEqual({ do: 'wait', ms: 1750 });
  });

  it('is left the whole grace as long as the lease is renewed', () => {
    const asked = { ...idle, askedAt: 0 };
    expect(nextStep({ ...asked, now: 9000, leaseEnd: 11_000 })).toEqual({ do: 'wait', ms: 1000 });
    expect(nextStep({ ...asked, now: 10_000, leaseEnd: 12_000 })).toEqual({ do: 'kill' });
    expect(nextStep({ ...asked, now: 9000, leaseEnd: 10_000 })).toEqual({ do: 'wait', ms: 750 });
  });

  it('does not wait for somebody who comes to it too late', () => {
    expect(nextStep({ ...idle, now: 1750 })).toEqual({ do: 'kill' });
    expect(nextStep({ ...idle, now: 1e9 })).toEqual({ do: 'kill' });
  });

  it('is never later than the lease’s end less a margin, whatever grace was given', () => {
    fc.assert(
      fc.property(situations, (situation) => {
        const killBy = situation.leaseEnd - killMarginMs(situation.leaseMs);
        // Stepping from instant to instant as a timer that is never late would.
        let { now, askedAt } = situation;
        for (let steps = 0; ; steps++) {
          expect(steps).toBeLessThan(4);
          const step = nextStep({ ...situation, now, askedAt });
          if (step.do === 'kill') break;
          if (step.do === 'ask') askedAt = now;
          else {
            expect(step.ms).toBeGreaterThanOrEqual(0);
            // What is left over of a wait is what floating-point numbers leave.
            now = Math.max(now + step.ms, now + Number.EPSILON * now * 2);
          }
        }
        expect(now).toBeLessThanOrEqual(Math.max(situation.now, killBy) * (1 + 1e-9));
      }),
    );
  });

  it('comes before any other step once that instant is there', () => {
    fc.assert(
      fc.property(situations, (situation) => {
        const killBy = situation.leaseEnd - killMarginMs(situation.leaseMs);
        if (situation.now >= killBy) expect(nextStep(situation)).toEqual({ do: 'kill' });
      }),
    );
  });

  it('leaves a leader whose heartbeats come in time alone', () => {
    fc.assert(
      fc.property(fc.double({ min: 100, max: 1e6, noNaN: true }), durations, (leaseMs, graceMs) => {
        // The keeper hears of a heartbeat an eighth of a lease late at worst, and one comes every quarter.
        const now = (leaseMs * 3) / 8;
        expect(nextStep({ now, leaseEnd: leaseMs, leaseMs, graceMs, askedAt: undefined }).do).toBe('wait');
        expect(warningMs(leaseMs, graceMs) + killMarginMs(leaseMs)).toBeLessThanOrEqual(leaseMs / 2);
      }),
    );
  });
});
