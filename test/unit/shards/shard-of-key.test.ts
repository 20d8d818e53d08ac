import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shardOf } from '../../../src/shards/shard-of-key.js';

describe('the shard of a key', () => {
  // By `printf '%s' KEY | sha256sum | cut -c1-12`, and the remainder of that.
  it.each([
    ['', 60, 2300],
    ['a', 27, 2587],
    ['order-17', 11, 2699],
    ['Zoë', 47, 2095],
  ])('is the one that any program computes, for %j', (key, of64, of4096) => {
    expect([shardOf(key, 64), shardOf(key, 4096), shardOf(key, 1)]).toEqual([of64, of4096, 0]);
    expect(shardOf(Buffer.from(key), 64)).toBe(of64);
  });

  it('is split in two when the number of shards is doubled', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 2 ** 20 }), (key, count) => {
        const before = shardOf(key, count);
        expect([before, before + count]).toContain(shardOf(key, 2 * count));
      }),
    );
  });

  it('has its part of the keys', () => {
    const counts = new Array<number>(64).fill(0);
    for (let number = 0; number < 64_000; number++) {
      const shard = shardOf(`user-${number}`, 64);
      counts[shard] = (counts[shard] as number) + 1;
    }
    // Six standard deviations of 31.
    expect(Math.min(...counts)).toBeGreaterThan(800);
    expect(Math.max(...counts)).toBeLessThan(1200);
  });

  it.each([
    [17, 64, 'key'],
    ['a', 0, 'count'],
    ['a', 1.5, 'count'],
    ['a', Number.NaN, 'count'],
  ])('is refused for %j of %j', (key, count, name) => {
    expect(() => shardOf(key as string, count)).toThrow(name);
  });
});
