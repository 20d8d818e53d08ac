import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  observed,
  rankOf,
  type TakeoverSituation,
  takeoverStep,
} from '../../../../src/election/takeover/lease-observation.js';

const SITUATION: TakeoverSituation = {
  version: 7,
  zxid: 20n,
  since: 1000,
  readAt: 3000,
  connection: 1,
  now: 3110,
  leaderLeaseMs: 2000,
  leastDelayMs: 0,
  rank: 0,
  ownLeaseMs: 2000,
  ownRemainingMs: 1900,
};

describe('what was seen of a heartbeat node', () => {
  it('counts from when the answer came that first showed its version, not from when it was asked for', () => {
    const first = observed(undefined, { version: 3, mzxid: 10n }, { readAt: 100, now: 140, connection: 1 });
    const later = { readAt: 600, now: 640, connection: 2 };
    expect(first).toEqual({ version: 3, zxid: 10n, since: 140, readAt: 100, connection: 1 });
    expect(observed(first, { version: 3, mzxid: 10n }, later)).toEqual({
      ...first,
      readAt: 600,
      connection: 2,
    });
    const next = { version: 4, zxid: 11n, since: 640, readAt: 600, connection: 2 };
    expect(observed(first, { version: 4, mzxid: 11n }, later)).toEqual(next);
  });

  it('begins anew with a version that comes again by another transaction, as in a restored backup', () => {
    const first = observed(undefined, { version: 3, mzxid: 10n }, { readAt: 100, now: 140, connection: 1 });
    const again = observed(first, { version: 3, mzxid: 12n }, { readAt: 600, now: 640, connection: 2 });
    expect(again).toEqual({ version: 3, zxid: 12n, since: 640, readAt: 600, connection: 2 });
  });
});

describe('a candidate that follows the heartbeats of a leader', () => {
  it("waits for as long as the leader's lease may last, by clocks whose rates differ by 1 %", () => {
    expect(takeoverStep({ ...SITUATION, now: 3109 })).toEqual({ kind: 'wait', ms: 1 });
    expect(takeoverStep(SITUATION)).toEqual({ kind: 'claim' });
    const sent = fc.double({ min: 0, max: 1e6, noNaN: true });
    const rate = fc.double({ min: 0.99, max: 1.01, noNaN: true });
    const lease = fc.integer({ min: 1, max: 100_000 });
    fc.assert(
      fc.property(sent, rate, rate, lease, sent, (sentAt, ofLeader, ofCandidate, leaderLeaseMs, laterMs) => {
        // In real time, the candidate sees the heartbeat's version after its sending, and claims when its own clock allows.
        const seenAt = sentAt + laterMs;
        const step = takeoverStep({
          ...{ ...SITUATION, leaderLeaseMs, since: 0, now: 0, readAt: 0 },
        });
        const waitsMs = step.kind === 'wait' ? step.ms : 0;
        const claimsAt = seenAt + waitsMs / ofCandidate;
        expect(claimsAt).toBeGreaterThan(sentAt + leaderLeaseMs / ofLeader);
      }),
    );
  });

  it('waits longer where takeoverDelayMs says so, and never less', () => {
    expect(takeoverStep({ ...SITUATION, leastDelayMs: 5000 })).toEqual({ kind: 'wait', ms: 2890 });
    expect(takeoverStep({ ...SITUATION, leastDelayMs: 1, now: 3109 })).toEqual({ kind: 'wait', ms: 1 });
  });

  it('leaves one delay to each candidate that comes before it', () => {
    expect(takeoverStep({ ...SITUATION, rank: 1 })).toEqual({ kind: 'wait', ms: 2110 });
  });

  it('claims only behind a heartbeat of its own and a read that are younger than half a lease', () => {
    expect(takeoverStep({ ...SITUATION, readAt: 2110 })).toEqual({ kind: 'prove' });
    expect(takeoverStep({ ...SITUATION, readAt: 2111 })).toEqual({ kind: 'claim' });
    expect(takeoverStep({ ...SITUATION, ownRemainingMs: 1000 })).toEqual({ kind: 'prove' });
    expect(takeoverStep({ ...SITUATION, ownRemainingMs: 0 })).toEqual({ kind: 'prove' });
  });

  it.each([
    [1, true, 0],
    [2, true, 1],
    [3, true, undefined],
    [0, false, 0],
    [1, false, 1],
    [2, false, undefined],
  ])(
    'with %i ahead in the queue, the leader among them: %s, has %s candidates before it',
    (position, isLeaderAhead, rank) => {
      expect(rankOf(position, isLeaderAhead)).toBe(rank);
    },
  );
});
