import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Beginning, ReadRecord } from '../../../../src/election/record/election-record.js';
import { takeoverDelayMs } from '../../../../src/lease/failure-detector.js';
import { endOf, PastTerms, type RecordFacts } from '../../../../src/overview/model/past-terms.js';

const LEASE_MS = 1000;
const nodeOf = (number: number) =>
  `_c_01234567-89ab-4def-8123-456789abcdef-lock-${String(number).padStart(10, '0')}`;
const held = (term: number, began?: Beginning): ReadRecord => ({
  ...{ state: 'held', term, id: `c${term}`, node: nodeOf(term), leaseMs: LEASE_MS },
  ...(began !== undefined && { began }),
});
const vacant = (term: number): ReadRecord => ({ state: 'vacant', term });

describe('how a term has ended', () => {
  it.each<[string, ReadRecord, ReturnType<typeof endOf>]>([
    ['by a release to no candidate', vacant(4), 'released'],
    ['by a release, as the record was vacant in between', held(5, 'vacant'), 'released'],
    ['by a release to another candidate', held(5, 'handover'), 'handed-over'],
    ['by a takeover', held(5, 'takeover'), 'taken-over'],
    ['with its session', held(5, 'failover'), 'session-ended'],
    ['unseen, as another client wrote the next record', held(5), 'unknown'],
    ['unseen, with others after it', held(7, 'handover'), 'unknown'],
    ['unseen, with others after it, that ended', vacant(6), 'unknown'],
    ['unseen, as the record can not be read', { state: 'unreadable', isEmpty: false }, 'unknown'],
    ['unseen, as the election was deleted', held(1, 'vacant'), 'unknown'],
  ])('%s', (_, after, expected) => {
    expect(endOf(4, after)).toBe(expected);
  });
});

describe('the terms of an election', () => {
  const facts = (record: ReadRecord, at: number, more: Partial<RecordFacts> = {}): RecordFacts => ({
    ...{ record, at, isGone: false },
    id: record.state === 'held' ? (record.id ?? null) : null,
    ...more,
  });

  it('follow each other, with gaps where none leads, and say why each has ended', () => {
    const terms = new PastTerms();
    const see = (record: ReadRecord, at: number, more?: Partial<RecordFacts>) =>
      terms
        .see(facts(record, at, more), at)
        .map(({ kind, id, reason }) => [kind, id, reason].filter(Boolean).join(' '));
    expect(see(held(1), 1)).toEqual(['elected c1']);
    expect(see(held(1), 1)).toEqual([]);
    expect(see(vacant(1), 2)).toEqual(['ended c1 released']);
    expect(see(held(2, 'vacant'), 3)).toEqual(['elected c2']);
    expect(see(held(2), 3, { isGone: true })).toEqual(['ended c2 session-ended']);
    expect(see(held(2), 3, { isGone: true })).toEqual([]);
    expect(see(held(3, 'failover'), 4)).toEqual(['elected c3']);
    expect(see(held(4, 'takeover'), 5)).toEqual(['ended c3 taken-over', 'elected c4']);
    expect(terms.all.map(({ term, from, to, end }) => [term, from, to, end])).toEqual([
      [1, 1, 2, 'released'],
      [2, 3, 3, 'session-ended'],
      [3, 4, 4, 'taken-over'],
      [4, 5, null, null],
    ]);
  });

  it('end, if they are taken over, when their lease was surely over: a margin before the claim', () => {
    const terms = new PastTerms();
    terms.see(facts(held(1), 10_000), 10_000);
    terms.see(facts(held(2, 'takeover'), 20_000), 20_000);
    const marginMs = takeoverDelayMs(LEASE_MS) - LEASE_MS;
    expect(terms.all.map(({ from, to }) => [from, to])).toEqual([
      [10_000, 20_000 - marginMs],
      [20_000, null],
    ]);
  });

  it('never overlap, are at most 100, and only the last one lasts, whatever is read', () => {
    const record = fc.oneof(
      fc.integer({ min: 0, max: 9 }).map((term) => vacant(term)),
      fc
        .tuple(fc.integer({ min: 0, max: 9 }), fc.constantFrom<Beginning>('vacant', 'failover', 'takeover'))
        .map(([term, began]) => held(term, began)),
      fc.constant<ReadRecord>({ state: 'unreadable', isEmpty: false }),
    );
    const step = fc.record({ record, isGone: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const terms = new PastTerms();
        for (const [at, { isGone, record: read }] of steps.entries())
          terms.see(facts(read, at, { isGone }), at);
        expect(terms.all.length).toBeLessThanOrEqual(100);
        for (const [index, { from, to, end }] of terms.all.entries()) {
          const next = terms.all[index + 1];
          expect(to === null).toBe(end === null);
          if (next !== undefined) expect(to).not.toBeNull();
          expect(to ?? from).toBeGreaterThanOrEqual(from);
          if (next !== undefined) expect(next.from).toBeGreaterThanOrEqual(to as number);
        }
      }),
    );
  });
});
