import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { candidateUuid } from '../../../../src/election/candidates/candidate-uuid.js';
import { serializeRecord } from '../../../../src/election/record/election-record.js';
import { furtherNames, kindOf, type NodeKind } from '../../../../src/overview/model/node-kind.js';
import { serializeSeats } from '../../../../src/queue/agreed-seats.js';
import { entryPrefix, type Purpose } from '../../../../src/queue/names-and-order.js';
import { ShardList } from '../../../../src/shards/stored/shard-list.js';

const UUID = '01234567-89ab-4def-8123-456789abcdef';
const CANDIDATE = `${entryPrefix(candidateUuid(UUID, 0, 2000))}0000000001`;
const HEARTBEAT = `_h_${candidateUuid(UUID, 0, 2000)}`;
const contender = (purpose?: Purpose) => `${entryPrefix(UUID, purpose)}0000000002`;
const RECORD = serializeRecord({ state: 'vacant', term: 3 });
const NO_DATA = Buffer.alloc(0);

const kind = (
  data: Buffer,
  names: readonly string[] = [],
  former?: NodeKind,
  version = data.length > 0 ? 1 : 0,
) => kindOf({ data, version, names }, former);

describe('what a node is', () => {
  it.each<[string, NodeKind, NodeKind]>([
    ['an election by its record', kind(RECORD), { name: 'election' }],
    ['an election by its first candidate', kind(NO_DATA, [CANDIDATE]), { name: 'election' }],
    ['an election whose record can not be read', kind(Buffer.from('x'), [CANDIDATE]), { name: 'election' }],
    [
      'an election by a candidate at the path of a semaphore',
      kind(serializeSeats(3), [CANDIDATE]),
      { name: 'election' },
    ],
    ['a semaphore by its seats', kind(serializeSeats(3), [contender()]), { name: 'semaphore', capacity: 3 }],
    ['a lock by a contender', kind(NO_DATA, [contender()]), { name: 'lock', capacity: 1 }],
    [
      'a read-write lock by a reader',
      kind(NO_DATA, [contender('read')]),
      { name: 'read-write', capacity: 1 },
    ],
    [
      'a read-write lock by a writer',
      kind(NO_DATA, [contender('write')]),
      { name: 'read-write', capacity: 1 },
    ],
    ['a group by its list of shards', kind(ShardList.of(8).serialize(), ['members']), { name: 'group' }],
    [
      'a group by its parts, whatever another client wrote over its list of shards',
      kind(Buffer.from('hello'), ['homes', 'members', 'plans', 'shards']),
      { name: 'group' },
    ],
    [
      'a group by the format of a newer release',
      kind(Buffer.from('{"format":"conclave.shards.2"}')),
      { name: 'group' },
    ],
    ['nothing of that if it is empty', kind(NO_DATA), { name: 'other' }],
    ['nothing of that with other data', kind(Buffer.from('{"a":1}'), ['x']), { name: 'other' }],
    [
      'nothing of that with the names of other clients',
      kind(NO_DATA, ['lock-0000000001', '_c_x-lock-1']),
      { name: 'other' },
    ],
  ])('%s', (_, found, expected) => {
    expect(found).toEqual(expected);
  });

  it('stays what it was when its queue is empty, unless its data say something else', () => {
    const lock: NodeKind = { name: 'lock', capacity: 1 };
    const election: NodeKind = { name: 'election' };
    expect(kind(NO_DATA, [], lock)).toEqual(lock);
    expect(kind(NO_DATA, [], election)).toEqual(election);
    expect(kind(NO_DATA, [contender()], election)).toEqual(lock);
    expect(kind(RECORD, [], lock)).toEqual(election);
    expect(kind(Buffer.from('other'), [], lock)).toEqual({ name: 'other' });
  });

  it('is decided for any data and names', () => {
    const name = fc.oneof(fc.string(), fc.constantFrom(CANDIDATE, HEARTBEAT, contender(), 'members'));
    fc.assert(
      fc.property(fc.uint8Array(), fc.array(name), (data, names) => {
        const found = kind(Buffer.from(data), names);
        const further = furtherNames(found, names);
        expect(names).toEqual(expect.arrayContaining(further));
        expect(further).not.toContain(CANDIDATE);
        expect(further).not.toContain(HEARTBEAT);
      }),
    );
  });

  it('leads to the other children, but for those of a queue or a group', () => {
    const names = [CANDIDATE, HEARTBEAT, 'nested', contender('read')];
    expect(furtherNames({ name: 'election' }, names)).toEqual(['nested']);
    expect(furtherNames({ name: 'lock', capacity: 1 }, names)).toEqual(['nested']);
    expect(furtherNames({ name: 'group' }, ['members', 'shards'])).toEqual([]);
  });
});
