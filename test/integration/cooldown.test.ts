import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/supervisor.js';
import type { Restart } from '../../src/cluster/supervisor/supervisor-events.js';
import type { ElectionSupervisorOptions } from '../../src/cluster/supervisor/supervisor-options.js';
import type { Term } from '../../src/election/term/term.js';
import { deferred } from '../../src/platform/async/promises.js';
import type { Session } from '../../src/session/session.js';
import { candidateNodes } from '../support/conclave/electors.js';
import { connectString, openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { aborted, eventAfter, nextEvent } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { until } from '../support/waiting.mjs';

function supervise(options: Partial<ElectionSupervisorOptions> & { path: string }): ElectionSupervisor {
  const supervisor = new ElectionSupervisor({ connect: connectString(), ...options });
  onTestFinished(() => supervisor.stop());
  return supervisor;
}

const electedOf = (supervisor: ElectionSupervisor) => nextEvent<[Term]>(supervisor, 'elected');

/** Deletes all candidates' nodes, as an operator may. */
async function deleteCandidates(session: Session, path: string): Promise<void> {
  for (const node of await candidateNodes(session, path)) await session.remove(`${path}/${node}`);
}

describe('a leader that has lost its term', () => {
  it('stays out of the election for cooldownMs, so that a candidate that comes later leads first', async () => {
    const { session, path } = await openWithPath('cooldown');
    const sick = supervise({ path, id: 'sick', cooldownMs: 60_000 });
    const first = electedOf(sick);
    await sick.start();
    await first;
    await eventAfter(sick, 'demoted', () => deleteCandidates(session, path));
    await until(() => /^cools down .* another \d{5} ms$/.test(sick.health().reasons[0] ?? ''));
    expect(sick.health()).toMatchObject({ live: true, ready: false, leading: false });
    const well = supervise({ path, id: 'well' });
    const second = electedOf(well);
    await well.start();
    expect((await second)[0].number).toBe(2);
    const began = performance.now();
    await sick.stop();
    expect(performance.now() - began).toBeLessThan(5000);
  });

  it('joins again after the pause, which is longer after the next loss', async () => {
    const { session, path } = await openWithPath('cooldown');
    const supervisor = supervise({ path, cooldownMs: 200 });
    const pauses: number[] = [];
    let elected = electedOf(supervisor);
    await supervisor.start();
    for (let loss = 1; loss <= 3; loss++) {
      await elected;
      elected = electedOf(supervisor);
      await eventAfter(supervisor, 'demoted', () => deleteCandidates(session, path));
      const lostAt = performance.now();
      await elected;
      pauses.push(performance.now() - lostAt);
    }
    expect(pauses[0]).toBeGreaterThanOrEqual(199);
    expect(pauses[1]).toBeGreaterThanOrEqual(399);
    expect(pauses[2]).toBeGreaterThanOrEqual(799);
  });

  it('joins again at once after a first loss by default, and pauses after a second one', async () => {
    const { session, path } = await openWithPath('cooldown');
    const supervisor = supervise({ path });
    const cools = () => supervisor.health().reasons.some((reason) => reason.startsWith('cools down'));
    const first = electedOf(supervisor);
    await supervisor.start();
    await first;
    const second = electedOf(supervisor);
    await deleteCandidates(session, path);
    await second;
    await eventAfter(supervisor, 'demoted', () => deleteCandidates(session, path));
    await until(cools);
    const third = electedOf(supervisor);
    expect((await third)[0].number).toBe(3);
    // After a supervisor has given a term back, its former losses don't count any more.
    const fourth = electedOf(supervisor);
    await supervisor.resign();
    await fourth;
    const fifth = electedOf(supervisor);
    await deleteCandidates(session, path);
    await fifth;
    expect(cools()).toBe(false);
  });

  it('with its session, says how long the pause is in restarting, and counts the clean-up as a part of it', async () => {
    const path = uniquePath('cooldown');
    const proxy = await startProxy();
    const observer = await openSession();
    const supervisor = supervise({
      connect: proxy.connectString,
      path,
      session: { sessionTimeoutMs: 700 },
      cooldownMs: 3000,
      cleanup: () => new Promise((resolve) => setTimeout(resolve, 100)),
    });
    const restarts: Restart[] = [];
    supervisor.on('restarting', (restart) => void restarts.push(restart));
    const first = electedOf(supervisor);
    await supervisor.start();
    await first;
    const demoted = nextEvent(supervisor, 'demoted').then(() => performance.now());
    const restarting = nextEvent<[Restart]>(supervisor, 'restarting').then(([{ delayMs }]) => ({
      at: performance.now(),
      delayMs,
    }));
    const second = electedOf(supervisor).then(() => performance.now());
    proxy.cut();
    await until(async () => (await observer.getChildren(path)).length === 0, 'the expiry');
    proxy.restore();
    const lostAt = await demoted;
    const restart = await restarting;
    expect(supervisor.health().reasons[0]).toMatch(/^cools down/);
    expect(restart.at - lostAt + restart.delayMs).toBeGreaterThanOrEqual(2990);
    expect(restart.delayMs).toBeLessThan(4500 - 100);
    expect((await second) - restart.at).toBeGreaterThanOrEqual(restart.delayMs - 10);
    expect(restarts.map(({ attempt }) => attempt)).toEqual([1]);
  });

  it('is stopped at once while it pauses before it opens another session', async () => {
    const path = uniquePath('cooldown');
    const proxy = await startProxy();
    const session = { sessionTimeoutMs: 700 };
    const supervisor = supervise({ connect: proxy.connectString, path, session, cooldownMs: 60_000 });
    const elected = electedOf(supervisor);
    await supervisor.start();
    await elected;
    const observer = await openSession();
    const restarting = nextEvent(supervisor, 'restarting');
    proxy.cut();
    await until(async () => (await observer.getChildren(path)).length === 0, 'the expiry');
    proxy.restore();
    await restarting;
    const began = performance.now();
    await supervisor.stop();
    expect(performance.now() - began).toBeLessThan(5000);
  });
});

it('a leader whose work goes on after its lease is wedged and not live until the work has settled, and then joins again', async () => {
  const { session, path } = await openWithPath('wedged');
  const mayEnd = [deferred(), deferred()];
  const supervisor = supervise({
    path,
    lead: async ({ signal, number }) => {
      await aborted(signal);
      await mayEnd[number - 1]?.promise;
    },
  });
  const elected = electedOf(supervisor);
  await supervisor.start();
  await elected;
  await eventAfter(supervisor, 'demoted', () => deleteCandidates(session, path));
  expect(supervisor.health()).toEqual({
    live: false,
    ready: false,
    leading: false,
    wedged: true,
    reasons: ['the term has ended (node-deleted), its work still runs, though the lease is over'],
  });
  const again = electedOf(supervisor);
  mayEnd[0]?.resolve();
  await again;
  expect(supervisor.health()).toMatchObject({ live: true, ready: true, leading: true, wedged: false });
  const stopping = supervisor.stop();
  // The leader's lease goes on, so no other candidate leads.
  expect(supervisor.health()).toMatchObject({ live: true, ready: false, wedged: false });
  mayEnd[1]?.resolve();
  await stopping;
});
