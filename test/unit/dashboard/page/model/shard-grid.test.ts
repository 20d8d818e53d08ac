import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  gridOf,
  ownedCounts,
  shardAfterKey,
  shardAt,
} from '../../../../../src/dashboard/page/model/shard-grid.js';

const sizes = fc.record({
  count: fc.integer({ min: 1, max: 5_000 }),
  width: fc.integer({ min: 0, max: 1_500 }),
});

it('a grid has a place for every shard, and is never wider than it may be', () => {
  fc.assert(
    fc.property(sizes, fc.integer({ min: 20, max: 500 }), ({ count, width }, height) => {
      const grid = gridOf(count, width, height, 30);
      expect(grid.columns * grid.rows).toBeGreaterThanOrEqual(count);
      expect(grid.side).toBeGreaterThan(0);
      if (width >= 3) expect(grid.width).toBeLessThanOrEqual(width);
      if (grid.pitch > 3) expect(grid.height).toBeLessThanOrEqual(height);
    }),
  );
});

it('a place of the grid is that of its shard', () => {
  fc.assert(
    fc.property(sizes, fc.nat(), ({ count, width }, any) => {
      const grid = gridOf(count, width, 300, 30);
      const shard = any % count;
      const x = (shard % grid.columns) * grid.pitch + 1;
      const y = Math.floor(shard / grid.columns) * grid.pitch + 1;
      expect(shardAt(grid, count, x, y)).toBe(shard);
    }),
  );
  const grid = gridOf(10, 40, 300, 10);
  expect([shardAt(grid, 10, 41, 1), shardAt(grid, 10, -1, 1), shardAt(grid, 10, 35, 25)]).toEqual([
    null,
    null,
    null,
  ]);
});

it('the arrow keys go to the shards beside it, and not over the edge', () => {
  const grid = gridOf(10, 40, 300, 10);
  const after = (key: string, shard: number) => shardAfterKey(key, shard, 10, grid);
  expect([after('ArrowRight', 1), after('ArrowDown', 1), after('ArrowUp', 5), after('End', 0)]).toEqual([
    2, 5, 1, 9,
  ]);
  expect([after('ArrowLeft', 0), after('ArrowDown', 9), after('Home', 7), after('Tab', 3)]).toEqual([
    0,
    9,
    0,
    null,
  ]);
});

it('counts what each member owns, and what has no owner', () => {
  expect(ownedCounts([0, 1, 1, -1, 7], 3)).toEqual({ byMember: [1, 2, 0], unowned: 2 });
});
