import { describe, expect, it, onTestFinished } from 'vitest';
import type { LeaderElectorOptions } from '../../../../src/election/elector-options.js';
import { LeaderElector } from '../../../../src/election/leader-elector.js';
import { deferred } from '../../../../src/platform/async/promises.js';
import { startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';

const PATH = '/election';
const LEASE_MS = 2000;

async function start() {
  const { clock, server, open } = await startWithTestClock();
  const elected: string[] = [];
  const join = async (id: string, options: LeaderElectorOptions = {}) => {
    const elector = new LeaderElector(await open({ leaseMs: LEASE_MS }), PATH, { id, ...options });
    elector.on('elected', () => elected.push(id));
    onTestFinished(() => clock.advanceUntil(elector.stop()));
    await clock.advanceUntil(elector.start());
    return elector;
  };
  const leads = (id: string) => clock.advanceUntil(() => elected.at(-1) === id);
  const lead = async (id: string) => {
    const elector = await join(id);
    await leads(id);
    return elector;
  };
  const stop = async (elector: LeaderElector) => {
    server.resetCounts();
    await clock.advanceUntil(elector.stop());
    return server.count('getChildren');
  };
  return { clock, server, elected, join, lead, leads, stop };
}

describe('a leader', () => {
  it('lists the queue once, a quarter of a lease after it was elected, and then no more', async () => {
    const { clock, server, lead } = await start();
    await lead('leader');
    server.resetCounts();
    await clock.advance(LEASE_MS / 4 - 100);
    expect(server.count('getChildren')).toBe(0);
    await clock.advance(200);
    expect(server.count('getChildren')).toBe(1);
    await clock.advance(20 * LEASE_MS);
    expect(server.count('getChildren')).toBe(1);
  });

  it('hands over without a listing if the queue has not changed since', async () => {
    const { clock, lead, join, leads, stop } = await start();
    const leader = await lead('leader');
    await join('next');
    await clock.advance(LEASE_MS);
    expect(await stop(leader)).toBe(0);
    await leads('next');
  });

  it('lists the queue at the release if it has changed since, so that a new candidate with a priority counts', async () => {
    const { clock, lead, join, leads, stop } = await start();
    const leader = await lead('leader');
    await join('next');
    await clock.advance(LEASE_MS);
    await join('high', { priority: 1 });
    expect(await stop(leader)).toBe(1);
    await leads('high');
  });

  it('hands over to a candidate with a priority that it knows, without a listing', async () => {
    const { clock, lead, join, leads, stop } = await start();
    const leader = await lead('leader');
    await join('next');
    await join('high', { priority: 1 });
    await clock.advance(LEASE_MS);
    expect(await stop(leader)).toBe(0);
    await leads('high');
  });

  it('lists the queue four times in a lease at most, however often it changes', async () => {
    const { clock, server, lead, join } = await start();
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
    const { clock, server, lead, join, leads } = await start();
    const leader = await lead('leader');
    const next = await join('next');
    await join('third');
    await clock.advance(LEASE_MS);
    const own = server.sessionOf(`${PATH}/${(await leader.candidates())[0]?.node}`);
    own?.dropConnection();
    server.sessionOf(`${PATH}/${(await next.candidates())[1]?.node}`)?.expire();
    await clock.advanceUntil(leader.stop());
    await leads('third');
  });

  it('lists the queue again after a listing that was not answered', async () => {
    const { clock, server, lead, join, leads, stop } = await start();
    const leader = await lead('leader');
    await join('next');
    const lost = server.swallowReply('getChildren');
    await clock.advanceUntil(() => lost.hits === 1);
    await clock.advance(LEASE_MS);
    expect(await stop(leader)).toBe(0);
    await leads('next');
  });

  it('forgets a listing if a candidate has joined before the answer came', async () => {
    const { clock, server, lead, join, leads } = await start();
    const leader = await lead('leader');
    await join('next');
    const late = server.delay(200, { only: 'getChildren', times: 1 });
    await clock.advanceUntil(() => late.hits === 1);
    await join('high', { priority: 1 });
    await clock.advance(200); // The answer comes together with the notification behind it.
    await clock.advanceUntil(leader.stop());
    await leads('high');
  });

  it('lists nothing while its work settles, if its node was deleted', async () => {
    const { clock, server, lead, join } = await start();
    const leader = await lead('leader');
    const next = await join('next');
    const work = deferred();
    leader.term?.waitUntil(work.promise);
    await clock.advance(LEASE_MS);
    const node = `${PATH}/${(await clock.advanceUntil(leader.candidates()))[0]?.node}`;
    await clock.advanceUntil(next.session.remove(node));
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
