import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../../src/errors.js';
import { backoffMs, jitteredPauseMs, resolveRetryOptions } from '../../../../src/platform/retry/backoff.js';

describe('the pause before the next try', () => {
  const pauses = (options: object, random: number) =>
    [1, 2, 3, 4, 5, 2000].map((attempt) => backoffMs(attempt, resolveRetryOptions(options, 4), random));

  it('is spread by chance also when it is longest: sessions that lost the servers together must not come back together', () => {
    const options = { minTimeout: 100, maxTimeout: 700 };
    expect(pauses(options, 0)).toEqual([100, 200, 350, 350, 350, 350]);
    expect(pauses(options, 0.5)).toEqual([150, 300, 525, 525, 525, 525]);
    expect(Math.max(...pauses(options, 1 - 1e-9))).toBeLessThanOrEqual(700);
  });

  it('is never shorter than minTimeout, never longer than maxTimeout, nor anything but a number', () => {
    expect(pauses({ minTimeout: 600, maxTimeout: 700 }, 0)).toEqual([600, 600, 600, 600, 600, 600]);
    expect(pauses({ minTimeout: 600, maxTimeout: 700 }, 0.5)).toEqual([700, 700, 700, 700, 700, 700]);
    expect(pauses({ minTimeout: 0 }, 0.5)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it('is reported under the name that it was given', () => {
    const wrong = { retries: -1, minTimeout: -1, maxTimeout: -1 };
    for (const [option, value] of Object.entries(wrong)) {
      expect(() => resolveRetryOptions({ [option]: value }, 1, 'restart')).toThrow(`restart.${option} is `);
      expect(() => resolveRetryOptions({ [option]: value }, 1)).toThrow(`retry.${option} is `);
    }
    expect(() => resolveRetryOptions(7, 1, 'restart')).toThrow('restart is 7');
  });

  it('has the defaults of p-retry, but for times that fit a failover', () => {
    const defaults = { retries: 7, minTimeout: 100, maxTimeout: 5000 };
    expect(resolveRetryOptions(undefined, 7)).toEqual(defaults);
    expect(resolveRetryOptions({}, 7)).toEqual(defaults);
    const policy = { retries: 9, minTimeout: 200, maxTimeout: 6000 };
    expect(resolveRetryOptions(policy, 7)).toEqual(policy);
  });

  it('may be as long as it is at first, also when that is longer than it would be at most', () => {
    expect(resolveRetryOptions({ minTimeout: 9000 }, 1).maxTimeout).toBe(9000);
    expect(resolveRetryOptions({ minTimeout: 10, maxTimeout: 10 }, 1).maxTimeout).toBe(10);
    expect(() => resolveRetryOptions({ minTimeout: 11, maxTimeout: 10 }, 1)).toThrow(
      'retry.maxTimeout is 10: expected at least retry.minTimeout, which is 11',
    );
  });

  it.each([
    ['retries', 0],
    ['retries', Number.POSITIVE_INFINITY],
    ['minTimeout', 0],
    ['maxTimeout', 100],
  ] as const)('is set by %s, which may be %d', (option, value) => {
    expect(resolveRetryOptions({ [option]: value }, 1)).toMatchObject({ [option]: value });
  });

  it.each([
    ['retries', '3'],
    ['retries', Number.NaN],
    ['retries', -0.5],
    ['retries', Number.NEGATIVE_INFINITY],
    ['minTimeout', Number.POSITIVE_INFINITY],
    ['tries', 3],
  ])('is not set by %s %j', (option, value) => {
    expect(() => resolveRetryOptions({ [option]: value }, 1)).toThrow(InvalidOptionError);
  });
});

it('the time out of the queue after terms that came to nothing doubles each time, up to five seconds, less up to a half by chance', () => {
  expect([1, 2, 3, 6, 7, 50].map((failures) => jitteredPauseMs(failures, 1))).toEqual([
    100, 200, 400, 3200, 5000, 5000,
  ]);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (times, chance) => {
        const longest = Math.min(5000, 100 * 2 ** (times - 1));
        expect(jitteredPauseMs(times, chance)).toBeCloseTo(longest * (0.5 + chance / 2));
      },
    ),
  );
});
