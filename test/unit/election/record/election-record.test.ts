import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  candidateIdOf,
  parseCandidate,
  preparedOf,
  serializeCandidate,
} from '../../../../src/election/candidates/candidate.js';
import {
  type ElectionRecord,
  LONGEST_LEASE_MS,
  parseRecord,
  serializeRecord,
} from '../../../../src/election/record/election-record.js';
import { parseJsonObject } from '../../../../src/platform/json.js';
import { parseEntry } from '../../../../src/queue/names-and-order.js';

const NODE = '_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000002';

const record: fc.Arbitrary<ElectionRecord> = fc.oneof(
  fc.record({ state: fc.constant('vacant' as const), term: fc.oneof(fc.constant(0), fc.maxSafeNat()) }),
  fc.record(
    {
      state: fc.constant('held' as const),
      term: fc.maxSafeNat(),
      id: fc.string(),
      began: fc.constantFrom('vacant', 'handover', 'failover', 'takeover'),
      node: fc.constant(NODE),
      leaseMs: fc.oneof(
        fc.double({ min: 1, max: LONGEST_LEASE_MS, noNaN: true }),
        fc.constant(LONGEST_LEASE_MS),
      ),
    },
    { requiredKeys: ['state', 'term', 'node', 'leaseMs'] }, // A handover by a listing knows no id of the successor.
  ),
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

  it('is vacant, before term 1, where nothing was written yet', () => {
    expect(parseRecord(Buffer.alloc(0), 0)).toEqual({ state: 'vacant', term: 0 });
    // A client has emptied the record, so its former content is unknown.
    expect(parseRecord(Buffer.alloc(0), 2)).toEqual({ state: 'unreadable', isEmpty: true });
  });

  it('is unreadable, never an error and never vacant, whatever else a client writes', () => {
    const bytes = fc.uint8Array({ minLength: 1 }).map((each) => Buffer.from(each));
    const json = fc.json().map((text) => Buffer.from(text));
    fc.assert(
      fc.property(
        fc.oneof(bytes, json),
        (written) => void expect(parseRecord(written, 1).state).toBe('unreadable'),
      ),
      { numRuns: 200 },
    );
  });

  it.each([
    { format: 1, state: 'vacant', term: -1 },
    { format: 1, state: 'vacant', term: 1.5 },
    { format: 1, state: 'vacant' },
    { format: 1, state: 'held', term: 1, id: 'a', node: '../other', leaseMs: 1 },
    { format: 1, state: 'held', term: 1, id: 'a', node: NODE, leaseMs: 0 },
    { format: 1, state: 'held', term: 1, id: 'a', node: NODE, leaseMs: 1e12 },
    { format: 1, state: 'held', term: 1, id: 7, node: NODE, leaseMs: 1 },
    { format: 1, state: 'held', term: 1, id: null, node: NODE, leaseMs: 1 },
    { format: 1, state: 'held', term: 1, id: 'a', node: [NODE], leaseMs: 1 },
    { format: 1, state: 'held', term: 1, id: 'a', node: NODE, leaseMs: '1' },
    { format: 1, state: 'held', term: 1, id: 'a', node: NODE, leaseMs: 86_400_001 },
    { format: 1, state: 'maybe', term: 1, id: 'a', node: NODE, leaseMs: 1 },
    7,
    null,
  ])('is unreadable when it is %j', (value) => {
    expect(parseRecord(Buffer.from(JSON.stringify(value)), 1)).toEqual({
      state: 'unreadable',
      isEmpty: false,
    });
  });

  it('is unreadable in the format of another release, and says which', () => {
    const other = Buffer.from('{"format":2,"state":"vacant","term":1}');
    expect(parseRecord(other, 1)).toEqual({ state: 'unreadable', isEmpty: false, format: 2 });
  });
});

describe('what a node says', () => {
  it.each(['', '{', '7', '"text"', 'true', 'null'])('is no object when it is %j', (said) => {
    expect(parseJsonObject(Buffer.from(said))).toBeUndefined();
  });
});

describe("a candidate's node", () => {
  const entry = parseEntry(NODE);
  if (entry === undefined) throw new Error('the entry of this test is one');

  it('returns the id and the data: text, bytes or nothing', () => {
    const data = fc.oneof(fc.string(), fc.uint8Array(), fc.constant(undefined));
    fc.assert(
      fc.property(fc.string(), data, fc.option(fc.boolean(), { nil: undefined }), (id, given, prepared) => {
        const node = serializeCandidate(id, given, prepared);
        expect(parseCandidate(entry, 3, node)).toEqual({
          id,
          node: NODE,
          position: 3,
          priority: 0,
          sequence: 2,
          data: given,
          ...(prepared !== undefined && { prepared }),
        });
        expect(preparedOf(node)).toBe(prepared);
        expect(candidateIdOf(node)).toBe(id);
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

  it.each(['', '10.0.0.1', '{}', '{"id":7}'])('that says %j says no id', (said) => {
    expect(candidateIdOf(Buffer.from(said))).toBeUndefined();
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
