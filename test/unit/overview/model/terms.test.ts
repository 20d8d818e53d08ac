import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReadRecord } from '../../../../src/election/nodes/record.js';
import { takeoverDelayMs } from '../../../../src/lease/silence.js';
import { type EndOfTerm, endOf, type SeatFacts, SeatTerms } from '../../../../src/overview/model/terms.js';

const LEASE_MS = 1000;
const nodeOf = (number: number) =>
  `_c_01234567-89ab-4def-8123-456789abcdef-lock-${String(number).padStart(10, '0')}`;
const held = (term: number, { id = `c${term}` as string | undefined, takeover = true } = {}): ReadRecord => ({
  ...{ state: 'held', term, node: nodeOf(term), leaseMs: LEASE_MS },
  ...(id !== undefined && { id }),
  ...(takeover && { takeover: 'lease' as const }),
});
const vacant = (term: number): ReadRecord => ({ state: 'vacant', term });

describe('how a term has ended', () => {
  const end = (after: ReadRecord, more: Partial<EndOfTerm> = {}) =>
    endOf({
      ...{ before: { term: 4, takeover: true }, wasGone: false, after, writes: 1 },
      ...{ isHandedOver: false, wasAway: false },
      ...more,
    });
  const NO_ID = { ...held(5), id: undefined } as unknown as ReadRecord;

  it.each<[string, ReadRecord, Partial<EndOfTerm>, ReturnType<typeof endOf>]>([
    ['by a release to no candidate', vacant(4), {}, 'released'],
    ['by a release to the first in the queue', NO_ID, {}, 'handed-over'],
    ['by a release to another candidate', held(5), { isHandedOver: true }, 'handed-over'],
    ['by a takeover', held(5), {}, 'taken-over'],
    [
      'with its session, where the leader allows no takeover',
      held(5),
      { before: { term: 4, takeover: false } },
      'session-ended',
    ],
    ['with its session, as its node was gone first', held(5), { wasGone: true }, 'session-ended'],
    ['by a release, as the record was vacant in between', held(5), { writes: 2 }, 'released'],
    ['unseen, between two sessions', held(5), { wasAway: true }, 'unknown'],
    ['unseen, with others after it', held(7), { writes: 5 }, 'unknown'],
    ['unseen, with others after it, that ended', vacant(6), {}, 'unknown'],
    ['unseen, as the record can not be read', { state: 'unreadable' }, {}, 'unknown'],
    ['unseen, as the election was deleted', held(1), {}, 'unknown'],
    ['by a release that shows although the session changed', vacant(4), { wasAway: true }, 'released'],
  ])('%s', (_, after, more, expected) => {
    expect(end(after, more)).toBe(expected);
  });
});

describe('the terms of a seat', () => {
  const facts = (record: ReadRecord, at: number, more: Partial<SeatFacts> = {}): SeatFacts => ({
    ...{ record, version: at, at, isGone: false, isHandedOver: false },
    id: record.state === 'held' ? (record.id ?? null) : null,
    ...more,
  });

  it('follow each other, with gaps where none leads, and say why each has ended', () => {
    const reading = {};
    const seat = new SeatTerms(0);
    const see = (record: ReadRecord, at: number, more?: Partial<SeatFacts>) =>
      seat
        .see(facts(record, at, more), at, reading)
        .map(({ kind, id, reason }) => [kind, id, reason].filter(Boolean).join(' '));
    expect(see(held(1), 1)).toEqual(['elected c1']);
    expect(see(held(1), 1)).toEqual([]);
    expect(see(vacant(1), 2)).toEqual(['ended c1 released']);
    expect(see(held(2), 3)).toEqual(['elected c2']);
    expect(see(held(2), 3, { isGone: true })).toEqual(['ended c2 session-ended']);
    expect(see(held(2), 3, { isGone: true })).toEqual([]);
    expect(see(held(3), 4)).toEqual(['elected c3']);
    expect(see(held(4), 5)).toEqual(['ended c3 taken-over', 'elected c4']);
    expect(seat.terms.map(({ term, from, to, end }) => [term, from, to, end])).toEqual([
      [1, 1, 2, 'released'],
      [2, 3, 3, 'session-ended'],
      [3, 4, 4, 'taken-over'],
      [4, 5, null, null],
    ]);
  });

  it('end, if they are taken over, when their lease was surely over: a margin before the claim', () => {
    const [seat, reading] = [new SeatTerms(0), {}];
    seat.see(facts(held(1), 10_000), 10_000, reading);
    seat.see(facts(held(2), 20_000, { version: 10_001 }), 20_000, reading);
    const marginMs = takeoverDelayMs(LEASE_MS) - LEASE_MS;
    expect(seat.terms.map(({ from, to }) => [from, to])).toEqual([
      [10_000, 20_000 - marginMs],
      [20_000, null],
    ]);
  });

  it('go on with one from before that still lasts, and close one that does not', () => {
    const past = [{ term: 3, seat: 0, id: 'c3', from: 7, to: null, end: null }];
    const same = new SeatTerms(0, past);
    expect(same.see(facts(held(3), 7), 50, {})).toEqual([]);
    expect(same.terms).toEqual(past);
    const another = new SeatTerms(0, past);
    another.see(facts(held(9), 20), 50, {});
    expect(another.terms.map(({ term, to, end }) => [term, to, end])).toEqual([
      [3, 20, 'unknown'],
      [9, null, null],
    ]);
  });

  it('never overlap, are at most 100, and only the last one lasts, whatever is read', () => {
    const record = fc.oneof(
      fc.integer({ min: 0, max: 9 }).map((term) => vacant(term)),
      fc
        .tuple(fc.integer({ min: 0, max: 9 }), fc.boolean())
        .map(([term, takeover]) => held(term, { takeover })),
      fc.constant<ReadRecord>({ state: 'unreadable' }),
    );
    const step = fc.record({
      record,
      isGone: fc.boolean(),
      isHandedOver: fc.boolean(),
      isNewReading: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const seat = new SeatTerms(0);
        let reading = {};
        for (const [at, { isNewReading, ...more }] of steps.entries()) {
          if (isNewReading) reading = {};
          seat.see(facts(more.record, at, more), at, reading);
        }
        expect(seat.terms.length).toBeLessThanOrEqual(100);
        for (const [index, { from, to, end }] of seat.terms.entries()) {
          const next = seat.terms[index + 1];
          expect(to === null).toBe(end === null);
          if (next !== undefined) expect(to).not.toBeNull();
          expect(to ?? from).toBeGreaterThanOrEqual(from);
          if (next !== undefined) expect(next.from).toBeGreaterThanOrEqual(to as number);
        }
      }),
    );
  });
});
