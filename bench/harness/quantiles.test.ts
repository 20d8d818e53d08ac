import { describe, expect, it } from 'vitest';
import { median, quantile } from './quantiles.mjs';

describe('the quantiles of a benchmark', () => {
  it('interpolate between the two nearest values', () => {
    const values = Array.from({ length: 201 }, (_, at) => 200 - at);
    expect([0, 0.5, 0.99, 1].map((share) => quantile(values, share))).toEqual([0, 100, 198, 200]);
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  it('are not a number where there are no values', () => {
    expect(median([])).toBeNaN();
  });
});
