import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { numbersIn, rangesOf } from '../../../../src/shards/nodes/ranges.js';

const inOrder = (numbers: readonly number[]) => [...numbers].sort((one, other) => one - other);

describe('numbers as ranges', () => {
  it('are read as they were written, in order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(200)), fc.nat(250), (numbers, count) => {
        const expected = inOrder(numbers).filter((number) => number < count);
        expect(numbersIn(rangesOf(numbers), count)).toEqual(expected);
      }),
    );
  });

  it('are as few as can be', () => {
    expect(rangesOf([7, 3, 4, 0, 5])).toEqual([
      [0, 0],
      [3, 5],
      [7, 7],
    ]);
    expect(rangesOf([])).toEqual([]);
  });

  it('end where the numbers do, however far a range goes', () => {
    expect(numbersIn([[1, 1e15]], 3)).toEqual([1, 2]);
  });

  it.each([
    ['no array', {}],
    ['no ranges', [1, 2]],
    ['three numbers', [[1, 2, 3]]],
    ['a fraction', [[0.5, 2]]],
    ['a number below zero', [[-1, 2]]],
    ['a string', [['0', 2]]],
    ['a range that ends before it begins', [[2, 1]]],
    [
      'a range that comes twice',
      [
        [0, 9],
        [0, 9],
      ],
    ],
    [
      'ranges out of order',
      [
        [5, 6],
        [0, 1],
      ],
    ],
  ])('aren’t read from %s', (_, ranges) => {
    expect(numbersIn(ranges, 10)).toBeUndefined();
  });
});
