import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCandidate, serializeCandidate } from '../../../../src/election/nodes/candidate.js';
import {
  type ElectionRecord,
  parseRecord,
  predictRecord,
  recordPath,
  serializeRecord,
  vacancy,
  writesOfClaim,
  writesOfRelease,
} from '../../../../src/election/nodes/record.js';
import { parseEntry } from '../../../../src/lock/queue/order.js';
import { parseJsonObject } from '../../../../src/platform/json.js';

const NODE = '_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000002';

const OTHER = '_c_f1234567-89ab-cdef-0123-456789abcdef-lock-0000000001';

const held = (node: string): ElectionRecord => ({
  state: 'held',
  term: 7,
  id: 'a candidate',
  node,
  leaseMs: 2000,
  since: '2026-01-01T00:00:00.000Z',
});

const record: fc.Arbitrary<ElectionRecord> = fc.oneof(
  fc.record({ state: fc.constant('vacant' as const), term: fc.maxSafeNat() }),
  fc.record({ state: fc.constant('vacant' as const), term: fc.maxSafeNat(), successor: fc.constant(NODE) }),
  fc.record({
    state: fc.constant('held' as const),
    term: fc.maxSafeNat(),
    id: fc.string(),
    node: fc.constant(NODE),
    leaseMs: fc.double({ min: 1, max: 60_000, noNaN: true }),
    since: fc.string(),
  }),
);

describe("the election's record", () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(
        record,
        (written) => void expect(parseRecord(serializeRecord(written), 1)).toEqual(written),
      ),
    );
  });

  it('may be vacant again before the first term', () => {
    const first = { state: 'vacant', term: 0 } as const;
    expect(parseRecord(serializeRecord(first), 2)).toEqual(first);
  });

  it('may hold a lease of a day', () => {
    const longest = { state: 'held', term: 1, id: 'a', node: NODE, leaseMs: 86_400_000, since: '' } as const;
    expect(parseRecord(serializeRecord(longest), 1)).toEqual(longest);
  });

  it.each(['', 7, null, 'no name', [NODE]])('names no successor by %j', (successor) => {
    const bytes = Buffer.from(JSON.stringify({ format: 1, state: 'vacant', term: 3, successor }));
    expect(parseRecord(bytes, 2)).toEqual({ state: 'vacant', term: 3 });
  });

  it('is vacant, before term 1, where nothing was written yet', () => {
    expect(parseRecord(Buffer.alloc(0), 0)).toEqual({ state: 'vacant', term: 0 });
    // A client has emptied it: what it said is not known.
    expect(parseRecord(Buffer.alloc(0), 2).state).toBe('unreadable');
  });

  it('is unreadable, never an error and never vacant, whatever else a client writes', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1 }),
        (bytes) => void expect(parseRecord(Buffer.from(bytes), 1).state).toBe('unreadable'),
      ),
    );
    fc.assert(
      fc.property(
        fc.json(),
        (text) => void expect(parseRecord(Buffer.from(text), 1).state).toBe('unreadable'),
      ),
    );
  });

  it.each([
    { format: 2, state: 'vacant', term: 1 },
    { format: 1, state: 'vacant', term: -1 },
    { format: 1, state: 'vacant', term: 1.5 },
    { format: 1, state: 'vacant' },
    { format: 1, state: 'held', term: 1, id: 'a', node: '../other', leaseMs: 1, since: '' },
    { format: 1, state: 'held', term: 1, id: 'a', node: NODE, leaseMs: 0, since: '' },
    { format: 1, state: 'held', term: 1, id: 'a', node: NODE, leaseMs: 1e12, since: '' },
    { format: 1, state: 'held', term: 1, id: 7, node: NODE, leaseMs: 1, since: '' },
    { format: 1, state: 'held', term: 1, id: 'a', node: [NODE], leaseMs: 1, since: '' },
    { format: 1, state: 'held', term: 1, id: 'a', node: NODE, leaseMs: '1', since: '' },
    { format: 1, state: 'held', term: 1, id: 'a', node: NODE, leaseMs: 86_400_001, since: '' },
    { format: 1, state: 'held', term: 1, id: 'a', node: NODE, leaseMs: 1, since: 7 },
    { format: 1, state: 'maybe', term: 1, id: 'a', node: NODE, leaseMs: 1, since: '' },
    7,
    null,
  ])('is unreadable when it is %j', (value) => {
    expect(parseRecord(Buffer.from(JSON.stringify(value)), 1)).toEqual({ state: 'unreadable' });
  });
});

describe('a record that was read as vacant', () => {
  it('may be claimed at the version that was read, as the next term', () => {
    expect(vacancy({ state: 'vacant', term: 7 }, 14)).toEqual({ term: 8, version: 14 });
  });

  it.each<[string, Parameters<typeof vacancy>[0]]>([
    ['is held by another candidate', held(OTHER)],
    ['is held by the reader', held(NODE)],
    ['names a successor', { state: 'vacant', term: 7, successor: OTHER }],
    ['can not be read', { state: 'unreadable' }],
  ])('is read again if it %s', (_, record) => {
    expect(vacancy(record, 14)).toBeUndefined();
  });

  it('is read again if its version is one that no release leaves behind', () => {
    expect(vacancy({ state: 'vacant', term: 7 }, 13)).toBeUndefined();
  });
});

describe('the writes of a record', () => {
  it('are as many as leave a held one at an odd version, and a vacant one at an even one', () => {
    expect([0, 1, 14, 15].map(writesOfClaim)).toEqual([1, 2, 1, 2]);
    expect(writesOfRelease(undefined)).toBe(1);
  });

  it('are more when a successor is named, so that the next in the queue finds another version, and reads', () => {
    expect(writesOfRelease(OTHER)).toBe(3);
  });
});

describe('the next in the queue', () => {
  it('predicts the release of a record that is held by the node it waits for', () => {
    expect(predictRecord(held(OTHER), 13, OTHER)).toEqual({ term: 8, version: 14 });
  });

  it('predicts nothing from any other record: the next write may be a claim', () => {
    expect(predictRecord({ state: 'vacant', term: 7 }, 13, OTHER)).toBeUndefined();
    expect(predictRecord(held(NODE), 13, OTHER)).toBeUndefined();
    expect(predictRecord({ state: 'unreadable' }, 13, OTHER)).toBeUndefined();
  });

  it('predicts nothing at an even version, at which no claim leaves a record', () => {
    expect(predictRecord(held(OTHER), 14, OTHER)).toBeUndefined();
  });

  it('was right whenever the record is at the version that it expects: vacant, and the term before', () => {
    const step = fc.constantFrom('claim', 'release', 'hand over', 'unclean claim');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.nat(20), (steps, first) => {
        let state: { record: ElectionRecord; version: number } = {
          record: { state: 'vacant', term: 0 },
          version: first,
        };
        const predictions: NonNullable<ReturnType<typeof predictRecord>>[] = [];
        for (const next of steps) {
          const { record, version } = state;
          if ((next === 'claim') === (record.state === 'held')) continue;
          const claimed = () => ({
            record: { ...held(OTHER), term: record.term + 1 },
            version: version + writesOfClaim(version),
          });
          const released = (successor?: string) => ({
            record: { state: 'vacant', term: record.term } as const,
            version: version + writesOfRelease(successor),
          });
          if (record.state === 'held') {
            const prediction = predictRecord(record, version, OTHER);
            expect(prediction).toBeDefined();
            if (prediction !== undefined) predictions.push(prediction);
          }
          if (record.state === 'held' || next === 'claim')
            state = next === 'release' ? released() : next === 'hand over' ? released(NODE) : claimed();
          for (const prediction of predictions) {
            if (prediction.version !== state.version) continue;
            expect(state.record).toMatchObject({ state: 'vacant', term: prediction.term - 1 });
          }
        }
      }),
    );
  });
});

describe('what a node says', () => {
  it.each(['', '{', '7', '"text"', 'true', 'null'])('is no object when it is %j', (said) => {
    expect(parseJsonObject(Buffer.from(said))).toBeUndefined();
  });
});

describe("where an election's record is", () => {
  it("is on its own node, and with several seats on each seat's", () => {
    expect(recordPath('/election')).toBe('/election');
    expect(recordPath('/election', 0)).toBe('/election/seat-0');
  });
});

describe("a candidate's node", () => {
  const entry = parseEntry(NODE);
  if (entry === undefined) throw new Error('the entry of this test is one');

  it('returns the id and the data: text, bytes or nothing', () => {
    const data = fc.oneof(fc.string(), fc.uint8Array(), fc.constant(undefined));
    fc.assert(
      fc.property(fc.string(), data, (id, given) => {
        const candidate = parseCandidate(entry, 3, serializeCandidate(id, given));
        expect(candidate).toEqual({ id, node: NODE, position: 3, sequence: 2, data: given });
      }),
    );
  });

  it("shows another client's node by its uuid, with its data as text", () => {
    const candidate = parseCandidate(entry, 0, Buffer.from('10.0.0.1'));
    expect(candidate).toMatchObject({ id: '01234567-89ab-cdef-0123-456789abcdef', data: '10.0.0.1' });
  });

  it.each([
    ['', '01234567-89ab-cdef-0123-456789abcdef', undefined],
    ['7', '01234567-89ab-cdef-0123-456789abcdef', '7'],
    ['{"id":"a","data":7}', 'a', undefined],
    ['{"id":"a","base64":7}', 'a', undefined],
  ])('that says %j is read for as much as it says', (said, id, data) => {
    expect(parseCandidate(entry, 0, Buffer.from(said))).toMatchObject({ id, data });
  });

  it('can be read whatever was written to it', () => {
    fc.assert(
      fc.property(
        fc.uint8Array(),
        (bytes) => void expect(parseCandidate(entry, 0, Buffer.from(bytes)).node).toBe(NODE),
      ),
    );
  });
});
