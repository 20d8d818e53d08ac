import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  candidateUuid,
  leaseOf,
  mayHavePriority,
  priorityOf,
} from '../../../../src/election/candidates/candidate-uuid.js';
import { isLease, LONGEST_LEASE_MS } from '../../../../src/election/record/election-record.js';
import {
  entryPrefix,
  heartbeatNodeOf,
  parseEntry,
  type QueueEntry,
} from '../../../../src/queue/names-and-order.js';
import { childNames } from '../../../support/conclave/child-names.js';

const LEASE_MS = 2000;
const VERSION_4 = '8a7b6c5d-1234-4fff-89ab-0123456789ab';
/** Where a candidate's uuid has its version, its format, the priority and the lease. In a random uuid these digits are random. */
const CARRYING = new Set([14, 15, 16, 17, 24, 25, 26, 27]);

const entryOf = (uuid: string) => parseEntry(`${entryPrefix(uuid)}0000000007`) as QueueEntry;
const passes = (name: string) => childNames([name]).strings(mayHavePriority).length === 1;

const random = fc.uuid({ version: 4 });
const priority = fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constant(0));
const leaseMs = fc.oneof(
  fc.double({ min: 1e-6, max: LONGEST_LEASE_MS, noNaN: true }),
  fc.double({ min: 1e-6, max: 60_000, noNaN: true }),
  fc.integer({ min: 1, max: LONGEST_LEASE_MS }),
  // On both sides of the limits from which the lease needs one more doubling.
  fc
    .tuple(fc.integer({ min: 0, max: 15 }), fc.integer({ min: -3, max: 3 }))
    .map(([e, by]) => 2047 * 2 ** e + by),
);

describe("a candidate's uuid", () => {
  it('is one of version 8, and says the priority, and a lease that is no shorter', () => {
    fc.assert(
      fc.property(random, priority, leaseMs, (uuid, given, ms) => {
        const made = candidateUuid(uuid, given, ms);
        expect(made).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        const entry = entryOf(made);
        expect(priorityOf(entry)).toBe(given);
        const read = leaseOf(entry);
        expect(read).toBeGreaterThanOrEqual(ms);
        expect(read).toBeLessThanOrEqual(ms * 1.001 + 1);
        expect(isLease(read)).toBe(true); // A record can name this lease.
      }),
      { numRuns: 2000 },
    );
  });

  it('leaves all other digits as chance has made them', () => {
    fc.assert(
      fc.property(random, priority, leaseMs, (uuid, given, ms) => {
        const made = candidateUuid(uuid, given, ms);
        const others = [...made].map((_, at) => at).filter((at) => !CARRYING.has(at));
        expect(others.map((at) => made[at])).toEqual(others.map((at) => uuid[at]));
      }),
    );
  });

  it.each([
    [300, 300],
    [1666.67, 1667],
    [2047, 2047],
    [2048, 2048],
    [2049, 2050],
    [3333.4, 3334],
    [10_000, 10_000],
    [LONGEST_LEASE_MS - 0.5, LONGEST_LEASE_MS],
    [LONGEST_LEASE_MS, LONGEST_LEASE_MS],
  ])('says for a lease of %d ms that it lasts %d ms', (given, said) => {
    expect(leaseOf(entryOf(candidateUuid(VERSION_4, 0, given)))).toBe(said);
  });

  it.each([0, -1, Number.NaN, LONGEST_LEASE_MS + 1, Number.POSITIVE_INFINITY])(
    'says no lease where that is %d ms, which no record can say',
    (given) => {
      const entry = entryOf(candidateUuid(VERSION_4, 7, given));
      expect([leaseOf(entry), priorityOf(entry)]).toEqual([undefined, 7]);
    },
  );

  it('is written in this way, which other candidates read', () => {
    expect(candidateUuid(VERSION_4, 0, 2000)).toBe('8a7b6c5d-1234-8100-89ab-07d0456789ab');
    expect(candidateUuid(VERSION_4, 171, 2000)).toBe('8a7b6c5d-1234-81ab-89ab-07d0456789ab');
    expect(candidateUuid(VERSION_4, 1, 4096)).toBe('8a7b6c5d-1234-8101-89ab-1400456789ab');
  });

  it.each(['0', '7', 'c', 'f'])(
    'has the bits of its variant also where chance gives a digit %s there',
    (digit) => {
      const made = candidateUuid(VERSION_4.replace('-89ab', `-${digit}9ab`), 0, LEASE_MS);
      expect(made).toMatch(/^8a7b6c5d-1234-8100-[89ab]9ab-/);
      expect(leaseOf(entryOf(made))).toBe(LEASE_MS);
    },
  );

  it('is read in capital letters as well', () => {
    expect(leaseOf(entryOf(candidateUuid(VERSION_4, 0, LEASE_MS).toUpperCase()))).toBe(LEASE_MS);
  });
});

describe('a name that is no candidate’s of this library', () => {
  it.each([
    ['Curator, a uuid of version 4', VERSION_4],
    ['go-zookeeper, random digits without hyphens', '8a7b6c5d12348fff89ab0123456789ab'],
    ['go-zookeeper, the digits of a candidate', candidateUuid(VERSION_4, 0, LEASE_MS).replaceAll('-', '')],
    ['another format', '8a7b6c5d-1234-8200-89ab-07d0000089ab'],
    ['another variant', '8a7b6c5d-1234-8100-c9ab-07d0000089ab'],
    ['a lease of nothing', '8a7b6c5d-1234-8100-89ab-0000000089ab'],
    ['a lease that is written with one doubling too many', '8a7b6c5d-1234-8100-89ab-0be8000089ab'],
    ['a lease of more than a day', '8a7b6c5d-1234-8100-89ab-ffff000089ab'],
  ])('has no lease: %s', (_, uuid) => {
    expect(leaseOf(entryOf(uuid))).toBeUndefined();
  });

  it.each([VERSION_4, '8a7b6c5d12348fff89ab0123456789ab'])('has no priority: %s', (uuid) => {
    expect(priorityOf(entryOf(uuid))).toBe(0);
    expect(passes(entryOf(uuid).node)).toBe(false);
  });

  it('has neither if more stands before the uuid', () => {
    const id = `x${candidateUuid(VERSION_4, 7, LEASE_MS)}`;
    expect(priorityOf({ ...entryOf(VERSION_4), id })).toBe(0);
    expect(leaseOf({ ...entryOf(VERSION_4), id })).toBeUndefined();
  });

  it('has a lease that a record can say, or none, whatever it is', () => {
    const digits = fc.stringMatching(/^[0-9a-f]{32}$/);
    const uuid = digits.map((hex) =>
      hex.replace(
        /^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/,
        (_all, a, b, c, d, e) => `${a}-${b}-8${c}-8${d}-${e}`,
      ),
    );
    fc.assert(
      fc.property(uuid, (each) => {
        const read = leaseOf(entryOf(each));
        if (read !== undefined) {
          expect(isLease(read)).toBe(true);
          expect(candidateUuid(each, priorityOf(entryOf(each)), read)).toBe(each); // There is only one way to write it.
        }
      }),
    );
  });
});

describe('the test of a name for a priority', () => {
  it('passes candidates that have one, by the bytes of their names alone', () => {
    fc.assert(
      fc.property(random, priority, leaseMs, (uuid, given, ms) => {
        const { node } = entryOf(candidateUuid(uuid, given, ms));
        expect([passes(node), passes(heartbeatNodeOf(node))]).toEqual([given > 0, false]);
      }),
    );
  });

  it('reads nothing behind the end of a short name', () => {
    const { node } = entryOf(candidateUuid(VERSION_4, 255, LEASE_MS));
    for (let length = 0; length <= 20; length++) expect(passes(node.slice(0, length))).toBe(false);
    expect(passes(node.slice(0, 21))).toBe(true);
  });
});
