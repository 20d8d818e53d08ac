import { describe, expect, it } from 'vitest';
import { parseMember, serializeMember } from '../../../../src/shards/nodes/member-data.js';

describe('what a member says of itself', () => {
  it.each([
    { id: 'a', weight: 1 },
    { id: 'Zoë', weight: 0.5, data: 'http://10.0.0.1:80' },
    { id: 'b', weight: 2, prepares: true as const },
  ])('is read as it was written: $id', (member) => {
    expect(parseMember(serializeMember(member))).toEqual(member);
  });

  it.each([
    '{',
    '{"id":"a","weight":1}',
    '{"format":"conclave.member.1","id":1,"weight":1}',
    '{"format":"conclave.member.1","id":"a","weight":0}',
    '{"format":"conclave.member.1","id":"a","weight":"1"}',
  ])('isn’t a member’s: %s', (data) => {
    expect(parseMember(Buffer.from(data))).toBeUndefined();
  });
});
