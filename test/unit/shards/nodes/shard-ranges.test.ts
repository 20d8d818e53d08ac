import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ShardList } from '../../../../src/shards/nodes/shard-list.js';
import { rangesOf, shardsIn } from '../../../../src/shards/nodes/shard-ranges.js';

const LIST = ShardList.of(4096);

describe('shards by ranges of numbers', () => {
  it('are read as they were written, in order, whatever the order was', () => {
    const some = fc.uniqueArray(fc.nat(4095)).map((numbers) => numbers.map(String));
    fc.assert(
      fc.property(some, (given) => {
        const inOrder = [...given].sort((one, other) => Number(one) - Number(other));
        expect(shardsIn(rangesOf(given, LIST), LIST)).toEqual(inOrder);
      }),
    );
  });

  it('take little for many in a row', () => {
    expect(rangesOf(LIST.ids, LIST)).toEqual([[0, 4095]]);
    expect(rangesOf(['7', '5', '6', '2', '2'], LIST)).toEqual([
      [2, 2],
      [5, 7],
    ]);
  });

  it('leave out what the list hasn’t, when they are written and when they are read', () => {
    expect(rangesOf(['1', '4096', 'x'], LIST)).toEqual([[1, 1]]);
    expect(
      shardsIn(
        [
          [1, 1],
          [4095, 1e15],
        ],
        LIST,
      ),
    ).toEqual(['1', '4095']);
  });

  it.each([
    [undefined],
    [{}],
    [[1]],
    [[[1]]],
    [[[-1, 2]]],
    [[['0', 2]]],
    [[[2, 1]]],
    [
      [
        [3, 4],
        [1, 2],
      ],
    ],
    [
      [
        [0, 4],
        [4, 5],
      ],
    ],
  ])('aren’t %j', (ranges) => {
    expect(shardsIn(ranges, LIST)).toBeUndefined();
  });
});
