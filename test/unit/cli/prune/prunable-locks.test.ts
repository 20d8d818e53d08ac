import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideLock as decideLockAt, furtherLocks } from '../../../../src/cli/prune/prunable-locks.js';
import type { ReadFamily } from '../../../../src/cli/prune/walk-tree.js';
import { serializeRecord } from '../../../../src/election/record/election-record.js';
import { serializeSeats } from '../../../../src/queue/agreed-seats.js';

const NO_DATA = Buffer.alloc(0);
const CONTENDER = '_c_01234567-89ab-4def-8123-456789abcdef-lock-0000000002';
const READER = '_c_01234567-89ab-4def-8123-456789abcdef-__READ__0000000002';
const CANDIDATE = '_c_01234567-89ab-8100-8123-07d00000cdef-lock-0000000002';
const CONTAINER = -(2n ** 63n);
const RECORD = { data: serializeRecord({ state: 'vacant', term: 3 }), version: 2 };
const SHARDS = { data: Buffer.from('{"format":"conclave.shards.1","count":2}'), version: 1 };
const SEATS = { data: serializeSeats(3), version: 1 };
const OTHER = { data: Buffer.from('mine'), version: 1 };

interface Given {
  readonly data?: Buffer;
  readonly version?: number;
  readonly cversion?: number;
  readonly ephemeralOwner?: bigint;
  readonly children?: readonly string[];
}

function family({
  data = NO_DATA,
  version = 0,
  cversion = 2,
  ephemeralOwner = 0n,
  children = [],
}: Given): ReadFamily {
  const stat = {
    czxid: 1n,
    mzxid: 2n,
    createdAtMs: 7,
    modifiedAtMs: 8,
    version,
    cversion,
    ephemeralOwner,
    dataLength: 0,
  };
  return { node: { path: '/l', data, stat: { ...stat, numChildren: children.length } }, children };
}

const decideLock = (read: ReadFamily) => decideLockAt(read, 3_600_007);

describe('the path of a lock that no process uses', () => {
  it('is deleted at the version that was read', () => {
    expect(decideLock(family({}))).toEqual({
      kind: 'removable',
      description: 'created 1h ago',
      waitMs: 0,
      parts: [{ kind: 'delete', path: '/l', version: 0 }],
    });
    expect(decideLock(family(SEATS))).toMatchObject({
      kind: 'removable',
      description: '3 seats  created 1h ago',
      parts: [{ kind: 'delete', path: '/l', version: 1 }],
    });
  });

  it.each<[what: string, given: Given]>([
    ['of which no child was ever there', { cversion: 0 }],
    ['of a semaphore that no process has ever held', { ...SEATS, cversion: 0 }],
    ['with data of another kind', OTHER],
    ['that was written and has no data', { version: 1 }],
    ['with the record of an election', RECORD],
    ['with candidates that have not led yet', { children: [CANDIDATE] }],
    ['with the list of a group of shards', SHARDS],
    ['with children of another kind', { children: ['orders'] }],
    ['that belongs to a session', { ephemeralOwner: 7n }],
    ['that the servers delete by themselves', { ephemeralOwner: CONTAINER }],
  ])('is not one %s', (_what, given) => {
    expect(decideLock(family(given))).toBeUndefined();
  });

  it.each<[what: string, given: Given, why: string, reason: string]>([
    ['a contender', { children: [CONTENDER] }, 'in-use', 'it has contenders'],
    ['a reader', { children: ['mine', READER] }, 'in-use', 'it has contenders'],
    ['a holder of a semaphore', { ...SEATS, children: [CONTENDER] }, 'in-use', 'it has contenders'],
    [
      'nodes below a semaphore',
      { ...SEATS, children: ['mine'] },
      'other',
      'it has other nodes below it, mine for one',
    ],
    [
      'a number of seats that was changed',
      { ...SEATS, version: 2 },
      'other',
      'its number of seats was changed, and processes may start with the former number',
    ],
  ])('is kept with %s', (_what, given, why, reason) => {
    expect(decideLock(family(given))).toEqual({ kind: 'kept', why, reason });
  });

  it('has no children, no data but a number of seats, and was never written but for that', () => {
    const data = fc.constantFrom(NO_DATA, OTHER.data, serializeSeats(1), RECORD.data);
    const children = fc.array(fc.constantFrom(CONTENDER, READER, CANDIDATE, 'cron', '_h_x', 'mine'));
    const count = fc.integer({ min: -2, max: 3 });
    const owner = fc.constantFrom(0n, 7n, CONTAINER);
    fc.assert(
      fc.property(
        data,
        children,
        count,
        count,
        owner,
        (...[bytes, names, version, cversion, ephemeralOwner]) => {
          const decision = decideLock(
            family({ data: bytes, children: names, version, cversion, ephemeralOwner }),
          );
          if (decision?.kind !== 'removable') return;
          expect([names, cversion === 0, ephemeralOwner]).toEqual([[], false, 0n]);
          expect([String(bytes), version <= 1]).toEqual([
            decision.description.startsWith('1 seat ') ? '{"seats":1}' : '',
            true,
          ]);
          expect(decision.parts).toEqual([{ kind: 'delete', path: '/l', version }]);
        },
      ),
    );
  });
});

describe('the nodes below which there may be locks', () => {
  it.each<[what: string, given: Given, further: string[]]>([
    ['those of a folder', { children: ['a', 'b'] }, ['a', 'b']],
    [
      'those of a lock in use that are no contenders',
      { children: [CONTENDER, 'a', '_h_01234567-89ab-4def-8123-456789abcdef'] },
      ['a'],
    ],
    ['none of an election', { ...RECORD, children: ['cron'] }, []],
    ['none of an election that is led for the first time', { children: [CANDIDATE, 'cron'] }, []],
    ['none of a group', { ...SHARDS, children: ['members'] }, []],
    ['none of a node with data of another kind', { ...OTHER, children: ['a'] }, []],
  ])('are %s', (_what, given, further) => {
    expect(furtherLocks(family(given), false)).toEqual(further);
  });

  it('are all of the root that was named, unless it is an election or a group', () => {
    const ofRoot = (given: Given) => furtherLocks(family({ ...given, children: ['a'] }), true);
    expect([OTHER, RECORD, SHARDS].map(ofRoot)).toEqual([['a'], [], []]);
  });
});
