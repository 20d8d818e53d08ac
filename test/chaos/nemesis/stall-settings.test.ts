import { describe, expect, it } from 'vitest';
import { maxStallMsOf } from './stall-settings.js';

const WORKERS = 5;

function withOption(seed: number, start: number): number {
  const all = Array.from({ length: WORKERS }, (_, place) => maxStallMsOf(seed, place, start, WORKERS));
  return all.filter((ms) => ms !== undefined).length;
}

describe('the maxStallMs of workers', () => {
  it('is there for half of them, by turns', () => {
    for (let seed = 0; seed < 100; seed++)
      for (let start = 1; start < 5; start++)
        expect([2, 3], `seed ${seed}, start ${start}`).toContain(withOption(seed, start));
    for (let start = 1; start < 10; start++) {
      const both = [start, start + 1].map((each) => maxStallMsOf(8, 0, each, WORKERS));
      expect(both.filter((ms) => ms !== undefined)).toHaveLength(1);
    }
  });

  it('is the same for the same seed, and another for another', () => {
    const first = (seed: number) =>
      Array.from({ length: WORKERS }, (_, place) => maxStallMsOf(seed, place, 1, WORKERS));
    expect(first(8)).toEqual(first(8));
    const all = Array.from({ length: 100 }, (_, seed) => JSON.stringify(first(seed)));
    expect(new Set(all).size).toBe(100);
  });

  it('is longer than a lease, and such that faults last longer and shorter', () => {
    for (let seed = 0; seed < 500; seed++) {
      const ms = maxStallMsOf(seed, 0, 1, WORKERS) ?? 2500;
      expect(ms).toBeGreaterThanOrEqual(2500);
      expect(ms).toBeLessThanOrEqual(6000);
    }
  });
});
