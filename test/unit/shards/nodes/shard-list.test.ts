import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../../src/errors.js';
import { ShardList } from '../../../../src/shards/nodes/shard-list.js';

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
  });
});
