import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import type { Restart } from '../../src/cluster/supervisor/election-supervisor-events.js';
import type { ElectionSupervisorOptions } from '../../src/cluster/supervisor/election-supervisor-options.js';
import type { Term } from '../../src/election/term/term.js';
import { type Clock, sleep } from '../../src/platform/time/clock.js';
import type { Session } from '../../src/session/session.js';
import { candidateNodes } from '../support/conclave/electors.js';
import { nextEvent } from '../support/events.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';

const electedOf = (supervisor: ElectionSupervisor) => nextEvent<[Term]>(supervisor, 'elected');

/** Deletes all candidates' nodes, as an operator may. */
async function deleteCandidates(session: Session, path: string): Promise<void> {
  for (const node of await candidateNodes(session, path)) await session.remove(`${path}/${node}`);
}

const SESSION_TIMEOUT_MS = 6000;

/** A supervisor that leads, in time that stands still, with what it has told of its restarts, and with `again`, which has it lose its term. */
async function leading(optionsFor: (clock: Clock) => Partial<ElectionSupervisorOptions> = () => ({})) {
  const { clock, server, open } = await startWithTestClock();
  const path = '/cooldown';
  const session = { sessionTimeoutMs: SESSION_TIMEOUT_MS, environment: clock.environment };
  const given = { connect: server.connectString, path, session };
  const start = async (more: Partial<ElectionSupervisorOptions>) => {
    const supervisor = new ElectionSupervisor({ ...given, ...more });
    onTestFinished(() => clock.advanceUntil(supervisor.stop()));
    const elected = electedOf(supervisor);
    await clock.advanceUntil(supervisor.start());
    return { supervisor, elected };
  };
  const { supervisor, elected } = await start(optionsFor(clock));
  await clock.advanceUntil(elected);
  const restarts: Restart[] = [];
  supervisor.on('restarting', (restart) => void restarts.push(restart));
  const operator = await clock.advanceUntil(open());
  /** Deletes its node, and waits until it leads again. */
  const again = async () => {
    const next = electedOf(supervisor);
    await clock.advanceUntil(deleteCandidates(operator, path));
    await clock.advanceUntil(next);
  };
  return { clock, server, supervisor, operator, path, start, restarts, again };
}

const coolsDown = (supervisor: ElectionSupervisor) =>
  /^cools down .* another \d+ ms$/.test(supervisor.health().reasons[0] ?? '');

describe('a leader that has lost its term', () => {
  it('stays out of the election after the second loss, so that a candidate that comes later leads first', async () => {
    const { clock, supervisor, operator, path, start, again } = await leading(() => ({ id: 'sick' }));
    await again();
    await clock.advanceUntil(deleteCandidates(operator, path));
    await clock.advanceUntil(() => coolsDown(supervisor));
    expect(supervisor.health()).toMatchObject({ live: true, ready: false, leading: false });
    const { elected } = await start({ id: 'well' });
    expect((await clock.advanceUntil(elected))[0].number).toBe(3);
  });

  it('with its session, says how long the pause is in restarting, and counts the clean-up as a part of it', async () => {
    const { clock, server, supervisor, path, restarts, again } = await leading((itsClock) => ({
      cleanup: () => sleep(itsClock, 100),
    }));
    await again();
    restarts.length = 0;
    const [demoted, next] = [nextEvent(supervisor, 'demoted'), electedOf(supervisor)];
    server.expireSession((each) => each.ephemerals.some((node) => node.startsWith(path)));
    await clock.advanceUntil(demoted);
    const lostAt = clock.now();
    await clock.advanceUntil(() => restarts.length > 0);
    const restartedAt = clock.now();
    const [restart] = restarts as [Restart];
    expect(coolsDown(supervisor)).toBe(true);
    expect(restartedAt - lostAt).toBeGreaterThanOrEqual(100);
    expect(restartedAt - lostAt + restart.delayMs).toBeGreaterThanOrEqual(1000);
    expect(restart.delayMs).toBeLessThan(1500 - 99);
    await clock.advanceUntil(next);
    expect(clock.now() - restartedAt).toBeGreaterThanOrEqual(restart.delayMs);
    expect(restarts.map(({ attempt }) => attempt)).toEqual([1]);
  });

  it('is stopped at once while it pauses before it opens another session', async () => {
    const { clock, server, supervisor, path, restarts, again } = await leading();
    await again();
    restarts.length = 0;
    server.expireSession((each) => each.ephemerals.some((node) => node.startsWith(path)));
    await clock.advanceUntil(() => restarts.length > 0);
    const since = clock.now();
    await clock.advanceUntil(supervisor.stop());
    expect(clock.now() - since).toBeLessThan(100);
  });
});
