import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePlan, serializePlan } from '../../../../src/shards/nodes/plan-data.js';
import { ShardList } from '../../../../src/shards/nodes/shard-list.js';

const NAMES = { list: ShardList.of(['eu', 'us', 'asia']), version: 7 };

describe('a plan', () => {
  it('is read as it was written, in order', () => {
    const numbers = { list: ShardList.of(201), version: 1 };
    const some = fc.uniqueArray(fc.nat(200)).map((given) => given.map(String));
    fc.assert(
      fc.property(some, (given) => {
        const inOrder = [...given].sort((one, other) => Number(one) - Number(other));
        const read = parsePlan(serializePlan(given, numbers), numbers);
        expect(read).toEqual({ version: 1, shards: inOrder });
      }),
    );
  });

  it('says by numbers which shards they are, and of which list', () => {
    expect(String(serializePlan(['asia', 'eu', 'us'], NAMES))).toBe(
      '{"format":"conclave.plan.1","list":7,"shards":[[0,2]]}',
    );
  });

  it('isn’t known to mean which shards if it is for another list of names', () => {
    const data = serializePlan(['asia'], { ...NAMES, version: 8 });
    expect(parsePlan(data, NAMES)).toEqual({ version: 8, shards: 'unknown' });
  });

  it('means the same shards in every list by number, those that the known one has', () => {
    const data = serializePlan(['1', '2', '3'], { list: ShardList.of(4), version: 8 });
    const known = { list: ShardList.of(3), version: 7 };
    expect(parsePlan(data, known)).toEqual({ version: 8, shards: ['1', '2'] });
  });

  it('is empty, and for any list, where none was written yet', () => {
    expect(parsePlan(Buffer.alloc(0), NAMES)).toEqual({ version: undefined, shards: [] });
  });

  it.each([
    '{',
    '[]',
    '{"list":7,"shards":[]}',
    '{"format":"conclave.plan.1","list":7}',
    '{"format":"conclave.plan.1","shards":[]}',
    '{"format":"conclave.plan.1","list":7,"shards":[[1]]}',
  ])('isn’t one: %s', (data) => {
    expect(parsePlan(Buffer.from(data), NAMES)).toBeUndefined();
  });
});
