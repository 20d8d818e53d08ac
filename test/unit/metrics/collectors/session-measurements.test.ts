import { expect, it } from 'vitest';
import { SessionMeasurements } from '../../../../src/metrics/collectors/session-measurements.js';
import { Measurements } from '../../../../src/metrics/model/measurements.js';
import type { Session } from '../../../../src/session/session.js';

it('stalls and the heartbeats sent in them are counted, and the longest stall stays, also over sessions that follow one another', () => {
  const measurements = new Measurements({ election: '/a' }, () => undefined);
  const taps = new SessionMeasurements(measurements);
  const counted = (name: 'conclave_stalls_total' | 'conclave_heartbeats_repeated_total') =>
    measurements.snapshot().get(name)?.[0]?.value;
  /** A session whose events the test says. */
  const follow = (isRepeated = true) => {
    let say: (event: string, value?: unknown) => void = () => undefined;
    const tap = (listener: typeof say) => {
      say = listener;
      return () => undefined;
    };
    taps.follow({ tap, isRepeated } as unknown as Session);
    return (ms: number, heartbeats: number) => {
      for (let count = 0; count < heartbeats; count++) say('repeated');
      say('stall', ms);
    };
  };
  follow(false);
  expect([taps.longestStallSeconds, counted('conclave_stalls_total')]).toEqual([undefined, undefined]);
  const first = follow();
  expect([taps.longestStallSeconds, counted('conclave_stalls_total')]).toEqual([0, 0]);
  expect(counted('conclave_heartbeats_repeated_total')).toBe(0);
  first(4750, 3);
  first(900, 1);
  follow()(1200, 2);
  expect(taps.longestStallSeconds).toBe(4.75);
  expect(counted('conclave_stalls_total')).toBe(3);
  expect(counted('conclave_heartbeats_repeated_total')).toBe(6);
});
