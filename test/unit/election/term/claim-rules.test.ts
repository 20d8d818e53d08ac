import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ElectionRecord } from '../../../../src/election/nodes/record.js';
import { type ClaimSituation, nextClaimStep } from '../../../../src/election/term/claim-rules.js';

const OWN = '_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000002';
const OTHER = '_c_f1234567-89ab-cdef-0123-456789abcdef-lock-0000000001';

const held = (node: string, leaseMs = 2000): ElectionRecord => ({
  state: 'held',
  term: 7,
  id: 'another',
  node,
  leaseMs,
});

function situation(change: Partial<ClaimSituation>): ClaimSituation {
  const record = change.record ?? held(OTHER);
  return {
    record,
    version: 13,
    ownNode: OWN,
    zxid: 100n,
    unclean: { zxid: 100n, seenAt: 1000 },
    now: 1000,
    delayMs: 2110,
    placeLost: false,
    ...change,
  };
}

describe('the first in the queue', () => {
  it('claims a vacant record at once, as the next term, at the version it has read', () => {
    expect(nextClaimStep(situation({ record: { state: 'vacant', term: 7 } }))).toEqual({
      kind: 'claim',
      term: 8,
      version: 13,
    });
  });

  it('knows its own term: it was handed over, or the reply to its claim was lost', () => {
    expect(nextClaimStep(situation({ record: held(OWN) }))).toEqual({ kind: 'ours' });
  });

  it('waits the whole delay after an unclean end, then claims', () => {
    expect(nextClaimStep(situation({ now: 1000 }))).toEqual({ kind: 'wait', ms: 2110 });
    expect(nextClaimStep(situation({ now: 3000 }))).toEqual({ kind: 'wait', ms: 110 });
    expect(nextClaimStep(situation({ now: 3110 }))).toEqual({ kind: 'claim', term: 8, version: 13 });
  });

  it('begins to wait anew when the record was written meanwhile', () => {
    expect(nextClaimStep(situation({ zxid: 101n, now: 9000 }))).toEqual({ kind: 'wait', ms: 2110 });
  });

  it('waits before the first term too, if its place was deleted: the election may have been, under a leader', () => {
    const record = { state: 'vacant', term: 0 } as const;
    expect(nextClaimStep(situation({ record })).kind).toBe('claim');
    expect(nextClaimStep(situation({ record, placeLost: true }))).toEqual({ kind: 'wait', ms: 2110 });
    expect(nextClaimStep(situation({ record, placeLost: true, now: 3110 })).kind).toBe('claim');
    expect(nextClaimStep(situation({ record: { ...record, term: 1 }, placeLost: true })).kind).toBe('claim');
  });

  it('takes a record that it can not read for held, and gives a term no earlier one can have had', () => {
    const record = { state: 'unreadable' } as const;
    expect(nextClaimStep(situation({ record })).kind).toBe('wait');
    expect(nextClaimStep(situation({ record, now: 9000 }))).toEqual({ kind: 'claim', term: 14, version: 13 });
  });

  it('claims at once after an unclean end if the delay is turned off', () => {
    expect(nextClaimStep(situation({ delayMs: 0 })).kind).toBe('claim');
  });

  it('never claims before the delay is over, unless the record is vacant', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 10_000, noNaN: true }),
        fc.double({ min: 0, max: 10_000, noNaN: true }),
        fc.bigInt(0n, 20n),
        fc.bigInt(0n, 20n),
        (waited, delayMs, zxid, seenZxid) => {
          const unclean = { zxid: seenZxid, seenAt: 500 };
          const step = nextClaimStep(situation({ unclean, zxid, delayMs, now: 500 + waited }));
          if (step.kind === 'claim')
            expect(delayMs === 0 || (zxid === seenZxid && waited >= delayMs - 1e-9)).toBe(true);
        },
      ),
    );
  });
});
