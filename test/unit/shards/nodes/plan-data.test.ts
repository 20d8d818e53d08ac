import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePlan, serializePlan } from '../../../../src/shards/nodes/plan-data.js';

describe('a plan', () => {
  it('is read as it was written, in order', () => {
    const shards = fc.uniqueArray(fc.nat(200));
    fc.assert(
      fc.property(shards, (given) => {
        expect(parsePlan(serializePlan(given), 201)).toEqual([...given].sort((one, other) => one - other));
      }),
    );
  });

  it('takes little for many shards in a row', () => {
    const many = Array.from({ length: 4096 }, (_, shard) => shard);
    expect(String(serializePlan(many))).toBe('{"format":"conclave.plan.1","shards":[[0,4095]]}');
  });

  it('leaves out shards that the group hasn’t', () => {
    expect(parsePlan(serializePlan([1, 2, 3, 4]), 3)).toEqual([1, 2]);
    expect(parsePlan(Buffer.from('{"format":"conclave.plan.1","shards":[[0,1e15]]}'), 2)).toEqual([0, 1]);
  });

  it('is empty where none was written yet', () => {
    expect(parsePlan(Buffer.alloc(0), 8)).toEqual([]);
  });

  it.each([
    '{',
    '[]',
    '{"shards":[]}',
    '{"format":"conclave.plan.1"}',
    '{"format":"conclave.plan.1","shards":[[1]]}',
    '{"format":"conclave.plan.1","shards":[[-1,2]]}',
    '{"format":"conclave.plan.1","shards":[["0",2]]}',
  ])('isn’t one: %s', (data) => {
    expect(parsePlan(Buffer.from(data), 8)).toBeUndefined();
  });
});
