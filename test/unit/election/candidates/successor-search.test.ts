import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPassedOver } from '../../../../src/election/candidates/successor-search.js';
import type { LeaderElector } from '../../../../src/election/leader-elector.js';
import { takeoverDelayMs } from '../../../../src/lease/failure-detector.js';
import { startElection } from '../../../support/conclave/elections-in-test-time.js';

const PATH = '/election';
const TIMES = { sessionTimeoutMs: 60_000, leaseMs: 2000 };

/** An election whose leaders can crash: their connection ends without a word, and their session lasts. */
async function setUp() {
  const election = await startElection(PATH, TIMES);
  return { ...election, crash: (elector: LeaderElector) => election.atServer(elector).partition() };
}

describe('a preferred candidate that ends soon after it was elected, and comes back at once', () => {
  it('is passed over, so that a healthy one leads (it was elected again and again), also under another id', async () => {
    const { clock, lead, join, leads, crash } = await setUp();
    const first = await lead('preferred', { priority: 10 });
    const healthy = await join('healthy');
    await clock.advance(100);
    crash(first);
    const again = await join('preferred', { priority: 10 });
    const renamed = await join('renamed', { priority: 20 });
    await clock.advance(takeoverDelayMs(TIMES.leaseMs) + TIMES.leaseMs);
    expect([healthy, again, renamed].map(({ isLeader }) => isLeader)).toEqual([true, false, false]);
    await clock.advance(60_000);
    expect(healthy.isLeader).toBe(true);
    await clock.advanceUntil(healthy.stop());
    await leads(renamed); // At the next change its priority counts again.
  });

  it('does not take the turn of a preferred one that was there before', async () => {
    const { clock, lead, join, leads, crash } = await setUp();
    const early = await lead('first');
    const preferred = await join('preferred', { priority: 10 });
    await join('healthy');
    const other = await join('other', { priority: 5 });
    await clock.advanceUntil(early.stop());
    await leads(preferred);
    crash(preferred);
    const again = await join('preferred', { priority: 10 });
    await leads(other);
    expect(again.isLeader).toBe(false);
  });

  it('is elected at once if there is no other, and keeps its priority after a term that has lasted', async () => {
    const { clock, lead, join, leads, crash } = await setUp();
    const alone = await lead('preferred', { priority: 10 });
    crash(alone);
    const again = await join('preferred', { priority: 10 });
    await clock.advance(takeoverDelayMs(TIMES.leaseMs) + TIMES.leaseMs);
    expect(again.isLeader).toBe(true);
    const healthy = await join('healthy');
    await clock.advance(20 * TIMES.leaseMs);
    crash(again);
    const third = await join('preferred', { priority: 10 });
    await leads(third);
    expect(healthy.isLeader).toBe(false);
  });
});

it('only a candidate that has joined since the term began is passed over, and only after few proofs', () => {
  const zxid = fc.bigInt({ min: 1n, max: 1000n });
  fc.assert(
    fc.property(zxid, zxid, fc.option(fc.nat(100), { nil: undefined }), (czxid, began, proofs) => {
      const isOver = isPassedOver({ czxid }, { zxid: began, proofs });
      if (proofs === undefined || czxid < began) expect(isOver).toBe(false);
      if (isOver && proofs !== undefined && proofs > 0)
        expect(isPassedOver({ czxid }, { zxid: began, proofs: proofs - 1 })).toBe(true);
    }),
  );
});
