import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCandidate, serializeCandidate } from '../../../../src/election/candidates/candidate.js';
import {
  type CandidateRequest,
  parseRequest,
  withRequest,
  withRequestOf,
} from '../../../../src/election/requests/candidate-request.js';
import { parseEntry, type QueueEntry } from '../../../../src/queue/names-and-order.js';

const NODE = '_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000002';
const entry = parseEntry(NODE) as QueueEntry;
const DAY_MS = 24 * 60 * 60 * 1000;
const STEP_DOWN = { kind: 'step-down', key: 'k', by: 'operator', graceMs: 5 } as const;
const node = (request: unknown) => Buffer.from(JSON.stringify({ id: 'a', request }));

const stepDown = {
  kind: fc.constant('step-down' as const),
  key: fc.string(),
  by: fc.string(),
  graceMs: fc.nat(DAY_MS),
  to: fc.string(),
  refused: fc.constant(true),
};
const requests = fc.oneof<fc.Arbitrary<CandidateRequest>[]>(
  fc.record({ kind: fc.constant('lead' as const), term: fc.maxSafeNat() }),
  fc.record(stepDown, { requiredKeys: ['kind', 'key', 'by', 'graceMs'] }),
  fc.record({ ...stepDown, reason: fc.constant('no-candidate' as const) }),
);
const data = fc.oneof(fc.string(), fc.uint8Array(), fc.constant(undefined));

describe("a request on a candidate's node", () => {
  it('is read as it was written, beside what the candidate advertises, which stays; and can be removed', () => {
    fc.assert(
      fc.property(fc.string(), data, requests, (id, advertised, request) => {
        const before = serializeCandidate(id, advertised);
        const after = withRequest(before, request) as Buffer;
        expect(parseRequest(after)).toEqual(request);
        // The parts have the same order, too: a request is known again after a lost reply.
        expect(JSON.stringify(parseRequest(after))).toBe(JSON.stringify(request));
        expect(parseCandidate(entry, 1, after)).toEqual(parseCandidate(entry, 1, before));
        expect(withRequest(after, undefined)).toEqual(before);
        expect(parseRequest(before)).toBeUndefined();
      }),
    );
  });

  it.each([0, 0.5, DAY_MS])('may allow %d ms', (graceMs) => {
    expect(parseRequest(node({ ...STEP_DOWN, graceMs }))).toEqual({ ...STEP_DOWN, graceMs });
  });

  it.each([
    null,
    'succeed',
    7,
    [],
    {},
    { kind: 'succeed' },
    { kind: 'succeed', after: 7 },
    { kind: 'succeed', after: 'no name' },
    { kind: 'dance', after: NODE },
    { ...STEP_DOWN, kind: 'dance' },
    { ...STEP_DOWN, key: 7 },
    { ...STEP_DOWN, by: null },
    { ...STEP_DOWN, graceMs: '5' },
    { ...STEP_DOWN, graceMs: null },
    { ...STEP_DOWN, graceMs: -1 },
    { ...STEP_DOWN, graceMs: DAY_MS + 1 },
    { ...STEP_DOWN, to: 7 },
    { ...STEP_DOWN, to: null },
  ])('is none when it is %j', (request) => {
    expect(parseRequest(node(request))).toBeUndefined();
  });

  it('is refused only where it says exactly that', () => {
    expect(parseRequest(node({ ...STEP_DOWN, refused: 'yes' }))).toEqual(STEP_DOWN);
    expect(parseRequest(node({ ...STEP_DOWN, refused: false }))).toEqual(STEP_DOWN);
  });

  it('has a reason only where it is refused, and one that is known', () => {
    const refused = { ...STEP_DOWN, refused: true };
    expect(parseRequest(node({ ...STEP_DOWN, reason: 'no-candidate' }))).toEqual(STEP_DOWN);
    expect(parseRequest(node({ ...refused, reason: 'bad weather' }))).toEqual(refused);
    expect(parseRequest(node({ ...refused, reason: 'no-candidate' }))).toEqual({
      ...refused,
      reason: 'no-candidate',
    });
  });

  it.each(['', '10.0.0.1', '[]', 'null', '"a"', '{}', '{"id":7}', '{"id":null}'])(
    'can not be put on a node that says %j: the client that wrote that would not heed it',
    (said) => {
      expect(withRequest(Buffer.from(said), STEP_DOWN)).toBeUndefined();
      expect(parseRequest(Buffer.from(said))).toBeUndefined();
    },
  );
});

describe('a change of what a candidate advertises', () => {
  it('keeps the request that another client has written', () => {
    fc.assert(
      fc.property(fc.string(), data, data, requests, (id, advertised, advertisedNext, request) => {
        const next = serializeCandidate(id, advertisedNext);
        const asked = withRequest(serializeCandidate(id, advertised), request) as Buffer;
        const after = withRequestOf(next, asked);
        expect(parseRequest(after)).toEqual(request);
        expect(parseCandidate(entry, 1, after)).toEqual(parseCandidate(entry, 1, next));
        expect(withRequestOf(next, serializeCandidate(id, advertised))).toEqual(next);
      }),
    );
  });
});
