import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isPassedOver } from '../../../../src/election/candidates/successor-search.js';
import { LeaderElector } from '../../../../src/election/leader-elector.js';
import { takeoverDelayMs } from '../../../../src/lease/failure-detector.js';
import { startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';

const PATH = '/election';
const TIMES = { sessionTimeoutMs: 60_000, leaseMs: 2000 };

/** An election whose leaders can crash: their connection ends without a word, and their session lasts. */
async function startElection() {
  const { clock, server, open } = await startWithTestClock();
  const join = async (id: string, priority = 0) => {
    const elector = new LeaderElector(await open(TIMES), PATH, { id, priority });
    onTestFinished(() => clock.advanceUntil(elector.stop()));
    await clock.advanceUntil(elector.start());
    return elector;
  };
  const leads = (elector: LeaderElector) => clock.advanceUntil(() => elector.isLeader);
  const crash = async (elector: LeaderElector) => {
    server.sessionOf(`${PATH}/${(await clock.advanceUntil(elector.leader()))?.node}`)?.partition();
  };
  return { clock, join, leads, crash };
}

describe('a preferred candidate that ends soon after it was elected, and comes back at once', () => {
  it('is passed over, so that a healthy one leads (it was elected again and again), also under another id', async () => {
    const { clock, join, leads, crash } = await startElection();
    const first = await join('preferred', 10);
    await leads(first);
    const healthy = await join('healthy');
    await clock.advance(100);
    await crash(first);
    const again = await join('preferred', 10);
    const renamed = await join('renamed', 20);
    await clock.advance(takeoverDelayMs(TIMES.leaseMs) + TIMES.leaseMs);
    expect([healthy, again, renamed].map(({ isLeader }) => isLeader)).toEqual([true, false, false]);
    await clock.advance(60_000);
    expect(healthy.isLeader).toBe(true);
    await clock.advanceUntil(healthy.stop());
    await leads(renamed); // At the next change its priority counts again.
  });

  it('does not take the turn of a preferred one that was there before', async () => {
    const { clock, join, leads, crash } = await startElection();
    const early = await join('first');
    await leads(early);
    const preferred = await join('preferred', 10);
    await join('healthy');
    const other = await join('other', 5);
    await clock.advanceUntil(early.stop());
    await leads(preferred);
    await crash(preferred);
    const again = await join('preferred', 10);
    await leads(other);
    expect(again.isLeader).toBe(false);
  });

  it('is elected at once if there is no other, and keeps its priority after a term that has lasted', async () => {
    const { clock, join, leads, crash } = await startElection();
    const alone = await join('preferred', 10);
    await leads(alone);
    await crash(alone);
    const again = await join('preferred', 10);
    await clock.advance(takeoverDelayMs(TIMES.leaseMs) + TIMES.leaseMs);
    expect(again.isLeader).toBe(true);
    const healthy = await join('healthy');
    await clock.advance(20 * TIMES.leaseMs);
    await crash(again);
    const third = await join('preferred', 10);
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
