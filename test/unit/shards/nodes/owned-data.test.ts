import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseOwned, serializeOwned } from '../../../../src/shards/nodes/owned-data.js';

describe('what a member publishes', () => {
  it('is read as it was written, whatever the number of shards', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(99_999), { maxLength: 50 }), (numbers) => {
        expect(parseOwned(serializeOwned(numbers))).toEqual([...numbers].sort((one, other) => one - other));
      }),
    );
  });

  it('takes little for many shards in a row', () => {
    const many = Array.from({ length: 4096 }, (_, shard) => shard);
    expect(String(serializeOwned(many))).toBe('{"format":"conclave.owned.1","shards":[[0,4095]]}');
  });

  it('has no shard that no group can have', () => {
    expect(parseOwned(Buffer.from('{"format":"conclave.owned.1","shards":[[99999,1e15]]}'))).toEqual([
      99_999,
    ]);
  });

  it('may say more than this version knows', () => {
    expect(parseOwned(Buffer.from('{"format":"conclave.owned.1","list":7,"shards":[[1,2]]}'))).toEqual([
      1, 2,
    ]);
  });

  it.each([
    '',
    '{',
    '[]',
    '{"shards":[]}',
    '{"format":"conclave.owned.1"}',
    '{"format":"conclave.plan.1","shards":[]}',
  ])('isn’t that: %s', (data) => {
    expect(parseOwned(Buffer.from(data))).toBeUndefined();
  });
});
