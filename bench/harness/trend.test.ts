import { describe, expect, it } from 'vitest';
import { trendOf } from './trend.mjs';

/** Neighbors are alike, as samples of a heap are. */
const noise = Array.from({ length: 360 }, (_, at) => 50 * Math.sin(at / 2) + 20 * Math.cos(at * 7));

describe('the trend of samples', () => {
  it('is exact for a straight line', () => {
    const { perHour, error } = trendOf(
      Array.from({ length: 120 }, (_, at) => 1000 + at),
      2,
    );
    expect(perHour).toBeCloseTo(60);
    expect(error).toBeCloseTo(0);
  });

  it('is within four errors where nothing but noise is, and not where something grows', () => {
    const { perHour, error } = trendOf(noise, 1);
    expect(Math.abs(perHour)).toBeLessThan(4 * error);
    const growing = trendOf(
      noise.map((value, at) => value + at / 6),
      1,
    );
    expect(growing.perHour).toBeGreaterThan(4 * growing.error);
  });

  it('needs twelve samples', () => {
    expect(() => trendOf([1, 2, 3], 1)).toThrow('a trend needs 12 samples, and there are 3');
    expect(trendOf(Array(12).fill(1), 1).perHour).toBeCloseTo(0);
  });
});
