import { describe, expect, it } from 'vitest';
import type { LeaderElector } from '../../../../src/election/leader-elector.js';
import { deferred } from '../../../../src/platform/async/promises.js';
import { startElection } from '../../../support/conclave/elections-in-test-time.js';

const PATH = '/election';
const LEASE_MS = 2000;

async function setUp() {
  const election = await startElection(PATH, { leaseMs: LEASE_MS });
  const { clock, server } = election;
  /** Stops a leader, and returns how often the queue is listed for that. */
  const listingsToStop = async (leader: LeaderElector) => {
    server.resetCounts();
    await clock.advanceUntil(leader.stop());
    return server.count('getChildren');
  };
  return { ...election, listingsToStop };
}

describe('a leader', () => {
  it('lists the queue once, a quarter of a lease after it was elected, and then no more', async () => {
    const { clock, server, lead } = await setUp();
    await lead('leader');
    server.resetCounts();
    await clock.advance(LEASE_MS / 4 - 100);
    expect(server.count('getChildren')).toBe(0);
    await clock.advance(200);
    expect(server.count('getChildren')).toBe(1);
    await clock.advance(20 * LEASE_MS);
    expect(server.count('getChildren')).toBe(1);
  });

  it.each([0, 1])(
    'hands over without a listing to a candidate of priority %i that it knows',
    async (priority) => {
      const { clock, lead, join, leads, listingsToStop } = await setUp();
      const leader = await lead('leader');
      const other = await join('other');
      const preferred = await join('preferred', { priority });
      await clock.advance(LEASE_MS);
      expect(await listingsToStop(leader)).toBe(0);
      await leads(priority === 0 ? other : preferred);
    },
  );

  it('lists the queue at the release if it has changed since, so that a new candidate with a priority counts', async () => {
    const { clock, lead, join, leads, listingsToStop } = await setUp();
    const leader = await lead('leader');
    await join('next');
    await clock.advance(LEASE_MS);
    const high = await join('high', { priority: 1 });
    expect(await listingsToStop(leader)).toBe(1);
    await leads(high);
  });

  it('lists the queue four times in a lease at most, however often it changes', async () => {
    const { clock, server, lead, join } = await setUp();
    await lead('leader');
    const { session } = await join('other');
    await clock.advance(LEASE_MS);
    server.resetCounts();
    const until = clock.now() + LEASE_MS;
    while (clock.now() < until) {
      await clock.advanceUntil(session.create(`${PATH}/other`));
      await clock.advanceUntil(session.remove(`${PATH}/other`));
      await clock.advance(10);
    }
    expect(server.count('create')).toBeGreaterThan(50);
    expect(server.count('getChildren')).toBeLessThanOrEqual(4);
  });

  it('finds another candidate if the one that it knows has gone unnoticed', async () => {
    const { clock, lead, join, leads, atServer } = await setUp();
    const leader = await lead('leader');
    const next = await join('next');
    const third = await join('third');
    await clock.advance(LEASE_MS);
    atServer(leader).dropConnection();
    atServer(next).expire();
    await clock.advanceUntil(leader.stop());
    await leads(third);
  });

  it('lists the queue again after a listing that was not answered', async () => {
    const { clock, server, lead, join, leads, listingsToStop } = await setUp();
    const leader = await lead('leader');
    const next = await join('next');
    const lost = server.swallowReply('getChildren');
    await clock.advanceUntil(() => lost.hits === 1);
    await clock.advance(LEASE_MS);
    expect(await listingsToStop(leader)).toBe(0);
    await leads(next);
  });

  it('forgets a listing if a candidate has joined before the answer came', async () => {
    const { clock, server, lead, join, leads } = await setUp();
    const leader = await lead('leader');
    await join('next');
    const late = server.delay(200, { only: 'getChildren', times: 1 });
    await clock.advanceUntil(() => late.hits === 1);
    const high = await join('high', { priority: 1 });
    await clock.advance(200); // The answer comes together with the notification behind it.
    await clock.advanceUntil(leader.stop());
    await leads(high);
  });

  it('lists nothing while its work settles, if its node was deleted', async () => {
    const { clock, server, lead, join, pathOf } = await setUp();
    const leader = await lead('leader');
    const next = await join('next');
    const work = deferred();
    leader.term?.waitUntil(work.promise);
    await clock.advance(LEASE_MS);
    await clock.advanceUntil(next.session.remove(pathOf(leader)));
    await clock.advanceUntil(() => leader.state.name === 'ending');
    server.resetCounts();
    await clock.advance(LEASE_MS);
    const { id } = leader.session.credentials;
    const listings = server.requests.filter(
      ({ operation, session }) => operation === 'getChildren' && session?.id === id,
    );
    expect(listings).toEqual([]);
    work.resolve();
  });
});
