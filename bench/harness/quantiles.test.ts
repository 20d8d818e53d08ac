import { describe, expect, it } from 'vitest';
import { median, quantile } from './quantiles.mjs';

describe('the statistics of a benchmark', () => {
  it('take the middle of an odd number of values, and the mean of both middles of an even one', () => {
    expect(median([5, 1, 3])).toBe(3);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  it('give the value that a share of all is below', () => {
    const values = Array.from({ length: 200 }, (_, at) => 199 - at);
    expect([0, 0.5, 0.99, 1].map((share) => quantile(values, share))).toEqual([0, 100, 198, 199]);
  });
});
