import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../../src/errors.js';
import {
  idsOf,
  numbersIn,
  rangesOf,
  rangesOfNumbers,
  ShardList,
} from '../../../../src/shards/stored/shard-list.js';

describe('a list of shards', () => {
  it('has the ids from 0 on if a number is given', () => {
    const list = ShardList.of(3);
    expect(list.ids).toEqual(['0', '1', '2']);
    expect([list.count, list.numberOf('2'), list.numberOf('3')]).toEqual([3, 2, undefined]);
  });

  it.each([3, ['eu', 'us']])('is read as it was written: %j', (shards) => {
    const list = ShardList.of(shards);
    expect(ShardList.parse(list.serialize())?.equals(list)).toBe(true);
  });

  it('differs from one with other shards, or with the same ids as names', () => {
    expect(ShardList.of(2).equals(ShardList.of(3))).toBe(false);
    expect(ShardList.of(2).equals(ShardList.of(['0', '1']))).toBe(false);
    expect(ShardList.of(['a', 'b']).equals(ShardList.of(['b', 'a']))).toBe(false);
  });

  it('that a group gets in place of another remembers that one, and those before it', () => {
    const first = ShardList.of(3);
    const second = first.changedTo(ShardList.of(8));
    const third = ShardList.parse(second.serialize())?.changedTo(ShardList.of(4)) as ShardList;
    expect(String(third.serialize())).toBe('{"format":"conclave.shards.1","count":4,"former":[3,8]}');
    const read = ShardList.parse(third.serialize());
    expect([3, 8, 4, 5].map((count) => read?.had(ShardList.of(count)))).toEqual([true, true, false, false]);
    expect(read?.equals(ShardList.of(4))).toBe(true);
    expect(third.changedTo(ShardList.of(8)).former).toEqual([3, 4]);
  });

  it('remembers a list of names by a few characters, and no number of them', () => {
    const list = ShardList.of(['eu', 'us']).changedTo(ShardList.of(['us', 'asia']));
    expect(list.former).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/)]);
    expect(list.had(ShardList.of(['eu', 'us']))).toBe(true);
    expect(list.had(ShardList.of(['us', 'eu']))).toBe(false);
    expect(list.had(ShardList.of(2))).toBe(false);
  });

  it('remembers the last sixteen', () => {
    let list = ShardList.of(1);
    for (let count = 2; count <= 20; count++) list = list.changedTo(ShardList.of(count));
    expect(list.former).toEqual(Array.from({ length: 16 }, (_, at) => at + 4));
  });

  it('can’t be changed from numbers to names, or back', () => {
    expect(() => ShardList.of(3).changedTo(ShardList.of(['a']))).toThrow(InvalidOptionError);
    expect(() => ShardList.of(3).changedTo(ShardList.of(['a']))).toThrow(
      'shards is ["a"]: expected a number, as the group has numbered shards',
    );
    expect(() => ShardList.of(['a']).changedTo(ShardList.of(3))).toThrow(
      'shards is 3: expected names, as the shards of the group have names',
    );
  });

  it.each([
    0,
    -1,
    1.5,
    100_001,
    Number.NaN,
    '8',
    undefined,
    [],
    ['a', 'a'],
    [''],
    [7],
    ['x'.repeat(256)],
    ['\ud800'],
  ])('can’t be made from %j', (shards) => {
    expect(() => ShardList.of(shards)).toThrow(InvalidOptionError);
  });

  it('isn’t one where another client has written', () => {
    expect(ShardList.parse(Buffer.from('{'))).toBeUndefined();
    expect(ShardList.parse(Buffer.from('{"format":"conclave.shards.1","count":0}'))).toBeUndefined();
    expect(ShardList.parse(Buffer.from('{"count":3}'))).toBeUndefined();
    expect(
      ShardList.parse(Buffer.from('{"format":"conclave.shards.1","count":3,"former":4}')),
    ).toBeUndefined();
  });
});

const inOrder = (numbers: readonly number[]) => [...numbers].sort((one, other) => one - other);

describe('numbers as ranges', () => {
  it('are read as they were written, in order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(200)), fc.nat(250), (numbers, count) => {
        const expected = inOrder(numbers).filter((number) => number < count);
        expect(numbersIn(rangesOfNumbers(numbers), count)).toEqual(expected);
      }),
    );
  });

  it('are as few as can be', () => {
    expect(rangesOfNumbers([7, 3, 4, 0, 5])).toEqual([
      [0, 0],
      [3, 5],
      [7, 7],
    ]);
    expect(rangesOfNumbers([])).toEqual([]);
  });

  it('leave out shards that the list hasn’t, when they are written and when they are read, however far a range goes', () => {
    const list = ShardList.of(3);
    expect(rangesOf(['1', '3', 'x'], list)).toEqual([[1, 1]]);
    expect(idsOf([[1, 1e15]], 0, { list, version: 0 })).toEqual(['1', '2']);
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
