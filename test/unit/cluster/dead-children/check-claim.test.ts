import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ClaimNodes,
  checkClaim,
  isOfOneElection,
} from '../../../../src/cluster/dead-children/check-claim.js';
import { type ElectionRecord, serializeRecord } from '../../../../src/election/record/record.js';
import type { NodeData, Stat } from '../../../../src/session/protocol/records.js';

const NAME = '_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000007';
const OTHER = '_c_01234567-89ab-cdef-0123-456789abcde0-lock-0000000008';
const SESSION = 7n;
const claim = { record: '/e', version: 3, term: 2, node: `/e/${NAME}` };
const HELD: ElectionRecord = { state: 'held', term: 2, id: 'x', node: NAME, leaseMs: 1 };

const stat = (version: number, ephemeralOwner = 0n) => ({ version, ephemeralOwner }) as Stat;
const isOwn = ({ ephemeralOwner }: Stat) => ephemeralOwner === SESSION;
const recordOf = (record: ElectionRecord, version = 3): NodeData => ({
  data: serializeRecord(record),
  stat: stat(version),
});

function check(nodes: Partial<ClaimNodes>): string {
  const found: ClaimNodes = { record: recordOf(HELD), node: stat(1, SESSION), ...nodes };
  return checkClaim(claim, found, isOwn).kind;
}

describe('a claim', () => {
  it('is valid with the node’s version, if the node is the session’s and the record says that it leads', () => {
    const found = { record: recordOf(HELD), node: stat(5, SESSION) };
    expect(checkClaim(claim, found, isOwn)).toEqual({ kind: 'valid', nodeVersion: 5 });
  });

  it.each<[string, Partial<ClaimNodes>]>([
    ['the node is gone', { node: undefined }],
    ['the record is gone', { record: undefined }],
    ['the record was written since', { record: recordOf(HELD, 5) }],
  ])('is outdated if %s', (_, nodes) => {
    expect(check(nodes)).toBe('outdated');
  });

  it.each<[string, Partial<ClaimNodes>]>([
    ['the node belongs to another session', { node: stat(1, 8n) }],
    ['the node belongs to no session', { node: stat(1) }],
    ['the record is vacant', { record: recordOf({ state: 'vacant', term: 2 }) }],
    ['another node leads', { record: recordOf({ ...HELD, node: OTHER }) }],
    ['the record is of another term', { record: recordOf({ ...HELD, term: 3 }) }],
    ['there is no record', { record: { data: Buffer.from('precious'), stat: stat(3) } }],
  ])('is wrong if %s', (_, nodes) => {
    expect(check(nodes)).toBe('wrong');
  });

  it.each([
    ['/e', `/e/${NAME}`],
    ['/e/seat-0', `/e/${NAME}`],
    ['/a/b/seat-12', `/a/b/${NAME}`],
  ])('is of one election: %s and %s', (record, node) => {
    expect(isOfOneElection({ ...claim, record, node })).toBe(true);
  });

  it.each([
    ['/secret', '/victim'],
    ['/secret', `/e/${NAME}`],
    ['/e', '/e/victim'],
    ['/e', `/e/below/${NAME}`],
    ['/e/below', `/e/${NAME}`],
    ['/f/seat-0', `/e/${NAME}`],
    ['/e/seat-01', `/e/${NAME}`],
    ['/e/seat-', `/e/${NAME}`],
    ['/e/seat-0/seat-0', `/e/${NAME}`],
    [`/${NAME}`, `/${NAME}`],
    ['/e', `/e/_c_01234567-89ab-cdef-0123-456789abcdef-__READ__0000000007`],
  ])('is not of one election: %s and %s', (record, node) => {
    expect(isOfOneElection({ ...claim, record, node })).toBe(false);
  });

  it('never lets anything be touched but an election and a child of its own', () => {
    const part = fc.constantFrom('e', 'seat-0', NAME, 'secret');
    const below = fc.array(part, { maxLength: 2 }).map((parts) => parts.map((each) => `/${each}`).join(''));
    const record = fc.tuple(below, fc.constantFrom('', '/seat-1', '/x')).map((parts) => parts.join(''));
    const node = fc.tuple(below, fc.constantFrom(`/${NAME}`, '/x')).map((parts) => parts.join(''));
    fc.assert(
      fc.property(record, node, (record, node) => {
        const election = node.slice(0, node.lastIndexOf('/'));
        const isOfIt = [election, `${election}/seat-0`, `${election}/seat-1`].includes(record);
        expect(isOfOneElection({ ...claim, record, node })).toBe(isOfIt && node.endsWith(NAME));
      }),
    );
  });
});
