import { describe, expect, it } from 'vitest';
import { backoffMs, resolveRetryOptions } from '../../../../src/platform/retry/backoff.js';

describe('the back-off of restarts', () => {
  const pauses = (options: object, random: number) =>
    [1, 2, 3, 4, 5, 2000].map((attempt) => backoffMs(attempt, resolveRetryOptions(options, 4), random));

  it('doubles from minTimeout up to maxTimeout', () => {
    const options = { minTimeout: 100, maxTimeout: 700, randomize: false };
    expect(pauses(options, 0.7)).toEqual([100, 200, 400, 700, 700, 700]);
    expect(pauses({ ...options, factor: 1 }, 0.7)).toEqual([100, 100, 100, 100, 100, 100]);
  });

  it('spreads also the longest pauses by chance: sessions that lost the servers together must not come back together', () => {
    const options = { minTimeout: 100, maxTimeout: 700 };
    expect(pauses(options, 0)).toEqual([100, 200, 350, 350, 350, 350]);
    expect(pauses(options, 0.5)).toEqual([150, 300, 525, 525, 525, 525]);
    expect(Math.max(...pauses(options, 1 - 1e-9))).toBeLessThanOrEqual(700);
  });

  it('is never shorter than minTimeout, nor anything but a number', () => {
    expect(pauses({ minTimeout: 600, maxTimeout: 700 }, 0)).toEqual([600, 600, 600, 600, 600, 600]);
    expect(pauses({ minTimeout: 0 }, 0.5)).toEqual([0, 0, 0, 0, 0, 0]);
  });
});
