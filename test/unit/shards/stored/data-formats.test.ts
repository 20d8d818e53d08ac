import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../../src/errors.js';
import {
  type Home,
  NO_REPORT,
  parseHome,
  parseMember,
  parseOwned,
  parsePins,
  parsePlan,
  parseReport,
  serializeHome,
  serializeMember,
  serializeOwned,
  serializePins,
  serializePlan,
  serializeReport,
} from '../../../../src/shards/stored/data-formats.js';
import { ShardList } from '../../../../src/shards/stored/shard-list.js';

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

describe('what a member publishes', () => {
  it('is read as it was written, whatever the number of shards', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(99_999), { maxLength: 50 }), (numbers) => {
        expect(parseOwned(serializeOwned(numbers))).toEqual([...numbers].sort((one, other) => one - other));
      }),
    );
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

const KNOWN = { list: ShardList.of(8), version: 3 };

describe('a member’s report', () => {
  it.each([NO_REPORT, { draining: true, refused: ['1', '2', '7'], ready: ['3'] }])(
    'is read as it was written: %j',
    (report) => {
      expect(parseReport(serializeReport(report, KNOWN), KNOWN)).toEqual(report);
    },
  );

  it('says of draining only that a member drains', () => {
    const report = { draining: false, refused: ['1', '2'], ready: [] };
    expect(String(serializeReport(report, KNOWN))).toBe(
      '{"format":"conclave.report.1","list":3,"refused":[[1,2]],"ready":[]}',
    );
  });

  it('of another list of names says only whether its member drains', () => {
    const names = { list: ShardList.of(['eu', 'us']), version: 3 };
    const data = serializeReport({ draining: true, refused: ['eu'], ready: ['us'] }, names);
    expect(parseReport(data, { ...names, version: 4 })).toEqual({ ...NO_REPORT, draining: true });
  });

  it.each([
    '{',
    '{"list":3,"refused":[],"ready":[]}',
    '{"format":"conclave.report.1","refused":[],"ready":[]}',
    '{"format":"conclave.report.1","list":3,"refused":[]}',
    '{"format":"conclave.report.1","list":3,"refused":[7],"ready":[]}',
  ])('isn’t one: %s', (data) => {
    expect(parseReport(Buffer.from(data), KNOWN)).toBeUndefined();
  });
});

const HOME: Home = {
  ...{ id: 'Zoë', member: '0f8fad5b-d9cb-869f-a165-70867728950e', weight: 1.5, graceMs: 0 },
  shards: ['1', '2', '7'],
};

describe('a member’s home', () => {
  it.each([HOME, { ...HOME, graceMs: 60_000, shards: [] }])('is read as it was written: %j', (home) => {
    expect(parseHome(serializeHome(home, KNOWN), KNOWN)).toEqual(home);
  });

  it.each([
    { format: 'conclave.home.2' },
    { id: 1 },
    { id: '\ud83d' },
    { member: undefined },
    { weight: 0 },
    { weight: '1' },
    { graceMs: -1 },
    { graceMs: undefined },
    { shards: [1] },
    { list: undefined },
  ])('isn’t one with %j', (change) => {
    const written = JSON.parse(String(serializeHome(HOME, KNOWN))) as object;
    expect(parseHome(Buffer.from(JSON.stringify({ ...written, ...change })), KNOWN)).toBeUndefined();
  });

  it('of another list of names has no shards', () => {
    const names = { list: ShardList.of(['eu', 'us']), version: 3 };
    const data = serializeHome({ ...HOME, shards: ['eu'] }, names);
    expect(parseHome(data, { ...names, version: 4 })).toEqual({ ...HOME, shards: [] });
  });

  it('isn’t one that is no object', () => {
    expect(parseHome(Buffer.from('{'), KNOWN)).toBeUndefined();
  });
});

describe('the pins', () => {
  it('are read as they were written, whatever the names are', () => {
    const entry = fc.tuple(fc.oneof(fc.string(), fc.constant('__proto__')), fc.string());
    fc.assert(
      fc.property(
        fc.array(entry).map((entries) => new Map(entries)),
        (pins) => {
          expect(parsePins(serializePins(pins))).toEqual(pins);
        },
      ),
    );
  });

  it('are none where nothing was written yet', () => {
    expect(parsePins(Buffer.alloc(0))).toEqual(new Map());
  });

  it('are refused if they take more than 500 kB', () => {
    const many = new Map(Array.from({ length: 5000 }, (_, at) => [String(at), 'm'.repeat(100)]));
    expect(() => serializePins(many)).toThrow(InvalidOptionError);
    expect(() => serializePins(many)).toThrow('pins is "5000 pins": expected pins of 500000 bytes in all');
  });

  it.each([
    '{',
    '{"pins":{}}',
    '{"format":"conclave.pins.1"}',
    '{"format":"conclave.pins.1","pins":null}',
    '{"format":"conclave.pins.1","pins":{"1":2}}',
  ])('aren’t %s', (data) => {
    expect(parsePins(Buffer.from(data))).toBeUndefined();
  });
});
