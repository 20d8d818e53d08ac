import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decide, type Known, type KnownRecord, rankOf } from '../../../src/election/decide-next-step.js';
import type { ElectionRecord, ReadRecord, SeenRecord } from '../../../src/election/record/election-record.js';
import { type Beating, type Sign, UNSEEN } from '../../../src/lease/failure-detector.js';

const nodeOf = (number: number) => `_c_01234567-89ab-cdef-0123-456789abcdef-lock-000000000${number}`;
const [FIRST, SECOND, OWN, LAST] = [nodeOf(1), nodeOf(2), nodeOf(3), nodeOf(4)];
const LEASE_MS = 2000;
const DELAY_MS = 2110;
const NOW = 10_000;

const held = (node: string, more = {}): ElectionRecord => ({
  ...{ state: 'held', term: 7, node, leaseMs: LEASE_MS },
  ...more,
});
const seen = (value: ReadRecord): SeenRecord => ({ value, version: 13, zxid: 100n, connection: 1 });
const beating = (more: Partial<Beating> = {}): Beating => ({
  ...{ name: 'beating', version: 5, zxid: 90n, since: NOW - DELAY_MS, readAt: NOW - 100, connection: 1 },
  ...more,
});

function decided(record: ReadRecord | undefined, of: Partial<KnownRecord> = {}, known: Partial<Known> = {}) {
  const own = { node: OWN, leaseMs: LEASE_MS };
  const all: Known = {
    ...{ now: NOW, own, longestLeaseMs: 0, ahead: { position: 0 } },
    leastDelayMs: 0,
    ...known,
  };
  const read = record && seen(record);
  return decide({ record: read, holder: UNSEEN, isProtected: false, hadPlace: false, ...of }, all);
}

describe('a candidate', () => {
  it('looks at the record if it is unread', () => {
    expect(decided(undefined)).toEqual({ do: 'look' });
  });

  it('knows its own term: it was handed over, or the reply to its claim was lost', () => {
    const record = seen(held(OWN));
    expect(decided(held(OWN))).toEqual({ do: 'lead', record });
    const ahead = { position: 4, nearest: SECOND };
    expect(decided(held(OWN), {}, { ahead })).toEqual({ do: 'lead', record });
  });

  it('claims the next term if the record promises others a shorter lease than its own', () => {
    const record = held(OWN, { leaseMs: LEASE_MS - 1 });
    expect(decided(record)).toEqual({ do: 'claim', over: seen(record) });
  });

  it('waits for a lease after a claim over this record was refused, or a first proof, in each of its roles', () => {
    const refusedAt = NOW - LEASE_MS + 300;
    const wait = { do: 'wait', ms: 300, refused: true };
    const vacant = { state: 'vacant', term: 7 } as const;
    expect(decided(vacant, { refusedAt })).toEqual(wait);
    expect(decided(vacant, { refusedAt: NOW - LEASE_MS })).toMatchObject({ do: 'claim' });
    expect(decided(held(OWN, { leaseMs: LEASE_MS - 1 }), { refusedAt })).toEqual(wait);
    expect(decided(held(OWN), { refusedAt })).toEqual(wait);
    const gone = { name: 'gone', since: NOW - 10 * DELAY_MS } as const;
    expect(decided(held(FIRST), { refusedAt, holder: gone })).toEqual(wait);
  });

  it('waits for a listing of the queue, unless the term is its own', () => {
    expect(decided({ state: 'vacant', term: 7 }, {}, { ahead: undefined })).toEqual({ do: 'wait' });
    expect(decided(held(OWN), {}, { ahead: undefined })).toMatchObject({ do: 'lead' });
  });
});

describe('the first in the queue', () => {
  it('claims a vacant record at once', () => {
    const record = { state: 'vacant', term: 7 } as const;
    expect(decided(record)).toEqual({ do: 'claim', over: seen(record) });
  });

  it('waits out the lease of a leader whose node is gone, and then claims', () => {
    const gone = (since: number): Partial<KnownRecord> => ({ holder: { name: 'gone', since } });
    expect(decided(held(FIRST), gone(NOW))).toEqual({ do: 'wait', ms: DELAY_MS });
    expect(decided(held(FIRST), gone(NOW - DELAY_MS + 1))).toEqual({ do: 'wait', ms: 1 });
    expect(decided(held(FIRST), gone(NOW - DELAY_MS))).toEqual({ do: 'claim', over: seen(held(FIRST)) });
    expect(decided(held(FIRST), gone(NOW), { leastDelayMs: 5000 })).toEqual({ do: 'wait', ms: 5000 });
  });

  it('empties a record that it can not read, and waits then as if it were held', () => {
    const unreadable = { state: 'unreadable', isEmpty: false } as const;
    expect(decided(unreadable)).toEqual({ do: 'empty', over: seen(unreadable) });
    expect(decided(unreadable, { refusedAt: NOW })).toMatchObject({ do: 'wait', refused: true });
    const behind = { ahead: { position: 1, nearest: FIRST } };
    expect(decided(unreadable, {}, behind)).toEqual({ do: 'wait', behind: FIRST });
    const record = { state: 'unreadable', isEmpty: true } as const;
    expect(decided(record, { holder: { name: 'gone', since: NOW } })).toEqual({ do: 'wait', ms: DELAY_MS });
    expect(decided(record, { holder: { name: 'gone', since: 0 } })).toMatchObject({ do: 'claim' });
  });

  it('waits out the longest lease that it has seen where the record does not name one', () => {
    const holder = { name: 'gone', since: NOW } as const;
    const waits = { do: 'wait', ms: 1.03 * 8000 + 50 };
    const known = { longestLeaseMs: 8000 };
    expect(decided({ state: 'unreadable', isEmpty: true }, { holder }, known)).toEqual(waits);
    expect(decided({ state: 'vacant', term: 0 }, { holder, hadPlace: true }, known)).toEqual(waits);
    expect(decided(held(FIRST), { holder }, known)).toEqual({ do: 'wait', ms: DELAY_MS });
  });

  it('waits before the first term too, if its place was deleted: the election may have been, under a leader', () => {
    const record = { state: 'vacant', term: 0 } as const;
    const holder = { name: 'gone', since: NOW } as const;
    expect(decided(record)).toMatchObject({ do: 'claim' });
    expect(decided(record, { hadPlace: true, holder })).toEqual({ do: 'wait', ms: DELAY_MS });
    expect(decided({ ...record, term: 1 }, { hadPlace: true, holder })).toMatchObject({ do: 'claim' });
  });

  it('waits for a leader behind it, to which the term was handed over', () => {
    expect(decided(held(LAST))).toEqual({ do: 'wait', behind: LAST });
  });
});

describe('a candidate that follows a leader', () => {
  const NEXT = { ahead: { position: 1, nearest: FIRST } };
  const THIRD = { ahead: { position: 2, nearest: SECOND } };

  it('waits as long as the lease may last, and takes over then', () => {
    const early = { holder: beating({ since: NOW - DELAY_MS + 1 }) };
    expect(decided(held(FIRST), early, NEXT)).toEqual({ do: 'wait', ms: 1, behind: FIRST });
    const over = seen(held(FIRST));
    expect(decided(held(FIRST), { holder: beating() }, NEXT)).toEqual({
      ...{ do: 'claim', over, instead: beating() },
    });
  });

  it('waits longer if its option says so', () => {
    const step = decided(held(FIRST), { holder: beating() }, { ...NEXT, leastDelayMs: 6000 });
    expect(step).toMatchObject({ do: 'wait', ms: 6000 - DELAY_MS });
  });

  it('leaves one delay to the next in line if it is the third', () => {
    expect(decided(held(FIRST), { holder: beating() }, THIRD)).toMatchObject({ do: 'wait', ms: DELAY_MS });
  });

  it('is behind all that the listing has shown ahead of it, whichever of them leads', () => {
    expect(decided(held(SECOND), { holder: beating() }, THIRD)).toMatchObject({ do: 'wait', ms: DELAY_MS });
  });

  it('claims only behind a read that is younger than half a lease', () => {
    const waits = { do: 'wait', behind: FIRST };
    expect(decided(held(FIRST), { holder: beating({ readAt: NOW - 1000 }) }, NEXT)).toEqual(waits);
    expect(decided(held(FIRST), { holder: beating({ readAt: NOW - 999 }) }, NEXT)).toMatchObject({
      do: 'claim',
    });
  });

  it('does not take over what it may not delete, nor when it is too far behind', () => {
    const protectedOne = { holder: beating(), isProtected: true };
    expect(decided(held(FIRST), protectedOne, NEXT)).toEqual({ do: 'wait', behind: FIRST });
    const fourth = { ahead: { position: 3, nearest: SECOND } };
    expect(decided(held(FIRST), { holder: beating() }, fourth)).toEqual({ do: 'wait', behind: SECOND });
  });

  it('leaves a leader whose node is gone to the first in the queue', () => {
    const gone = { holder: { name: 'gone', since: 0 } as const };
    expect(decided(held(FIRST), gone, THIRD)).toEqual({ do: 'wait', behind: SECOND });
  });

  it.each([
    [1, true, 0],
    [2, true, 1],
    [3, true, undefined],
    [0, false, 0],
    [1, false, 1],
    [2, false, undefined],
  ])('with %i ahead in the queue, the leader among them: %s, has %s before it', (position, isAhead, rank) => {
    expect(rankOf(position, isAhead)).toBe(rank);
  });
});

it('never claims a held record before the delay is over, whatever is known', () => {
  const time = fc.double({ min: 0, max: 12_000, noNaN: true });
  const sign: fc.Arbitrary<Sign> = fc.oneof(
    fc.constant(UNSEEN),
    fc.record({ name: fc.constant('gone' as const), since: time }),
    fc.record({ since: time, readAt: time, connection: fc.constantFrom(0, 1) }).map((more) => beating(more)),
  );
  const ahead = fc.record({
    position: fc.integer({ min: 0, max: 4 }),
    nearest: fc.constantFrom(FIRST, SECOND, undefined),
  });
  fc.assert(
    fc.property(sign, ahead, fc.constantFrom(FIRST, SECOND, LAST), time, fc.boolean(), (...given) => {
      const [holder, before, node, leastDelayMs, isProtected] = given;
      const step = decided(held(node), { holder, isProtected }, { ahead: before, leastDelayMs });
      if (step.do !== 'claim') return;
      const since = holder.name === 'unseen' ? Number.NaN : holder.since;
      expect(NOW - since).toBeGreaterThanOrEqual(Math.max(DELAY_MS, leastDelayMs) - 1e-9);
    }),
  );
});
