import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
const section =
  /^## When ZooKeeper's data is lost or restored$(.*?)^## /ms.exec(read('docs/fencing.md'))?.[1] ?? '';

/** The page's line of code, as a function. */
function fenceOf(): (generation: bigint, term: { token: bigint }) => bigint {
  const [, expression = ''] = /^const fence = (.*?);/m.exec(section) ?? [];
  expect(expression).not.toBe('');
  return new Function('generation', 'term', `return ${expression};`) as ReturnType<typeof fenceOf>;
}

describe('what is said of fencing when ZooKeeper has lost its data', () => {
  it('orders every token of a generation after all of the one before, and keeps the first generation plain', () => {
    const fence = fenceOf();
    const token = fc.bigInt({ min: 1n, max: 2n ** 48n - 1n });
    const generation = fc.bigInt({ min: 0n, max: 2n ** 15n - 2n });
    fc.assert(
      fc.property(generation, token, token, (former, one, other) => {
        expect(fence(former + 1n, { token: other })).toBeGreaterThan(fence(former, { token: one }));
        expect(fence(former, { token: one }) > fence(former, { token: other })).toBe(one > other);
        expect(fence(0n, { token: one })).toBe(one);
        // The number fits into a signed 64-bit column.
        expect(BigInt.asIntN(64, fence(former + 1n, { token: other }))).toBe(
          fence(former + 1n, { token: other }),
        );
      }),
    );
  });

  it('is led to from the README, among what is not promised', () => {
    const readme = read('README.md');
    const [notPromised = ''] = /^Not promised:.*?\n\n/ms.exec(readme) ?? [];
    expect(notPromised).toContain('docs/fencing.md#when-zookeepers-data-is-lost-or-restored');
  });
});
