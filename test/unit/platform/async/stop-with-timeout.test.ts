import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../../../src/cluster/supervisor/election-supervisor.js';
import type { ElectionSupervisorOptions } from '../../../../src/cluster/supervisor/election-supervisor-options.js';
import { LeaderElector } from '../../../../src/election/leader-elector.js';
import type { Term } from '../../../../src/election/term/term.js';
import { InvalidOptionError, StopPendingError } from '../../../../src/errors.js';
import { type Deferred, deferred } from '../../../../src/platform/async/promises.js';
import { nextEvent } from '../../../../src/testing/index.js';
import { errorsOf, eventAfter } from '../../../support/events.js';
import { startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';

const SESSION_TIMEOUT_MS = 6000;
const LEASE_MS = 2000;

/** Starts a leader whose work ends when the test says so. */
async function hanging(options: Partial<ElectionSupervisorOptions> = {}) {
  const { clock, server } = await startWithTestClock();
  const work: Deferred<unknown> = deferred();
  const supervisor = new ElectionSupervisor({
    connect: server.connectString,
    path: '/election',
    session: { sessionTimeoutMs: SESSION_TIMEOUT_MS, environment: clock.environment },
    lead: () => work.promise,
    ...options,
  });
  const errors = errorsOf(supervisor);
  onTestFinished(async () => {
    work.resolve(undefined);
    await clock.advanceUntil(supervisor.stop());
  });
  const elected = nextEvent<[Term]>(supervisor, 'elected');
  await clock.advanceUntil(supervisor.start());
  const [term] = (await clock.advanceUntil(elected)) as [Term];
  return { clock, server, work, supervisor, errors, term };
}

async function electorThatHangs(startWork: (term: Term, work: Promise<unknown>) => unknown) {
  const { clock, server, open } = await startWithTestClock();
  const session = await open({ sessionTimeoutMs: SESSION_TIMEOUT_MS });
  const work: Deferred<unknown> = deferred();
  const elector = new LeaderElector(session, '/election', { lead: (term) => startWork(term, work.promise) });
  const errors = errorsOf(elector);
  onTestFinished(async () => {
    work.resolve(undefined);
    await clock.advanceUntil(elector.stop());
  });
  await clock.advanceUntil(eventAfter(elector, 'elected', () => elector.start()));
  return { clock, server, work, elector, errors };
}

describe('a stop that has to wait for work that does not settle', () => {
  it('rejects when its time is over, naming what still runs, and gives nothing back', async () => {
    const { clock, server, supervisor } = await hanging();
    const error: unknown = await clock
      .advanceUntil(supervisor.stop({ timeoutMs: 500 }))
      .catch((thrown: unknown) => thrown);
    expect(clock.now()).toBeLessThan(LEASE_MS);
    expect(error).toBeInstanceOf(StopPendingError);
    expect(error).toMatchObject({
      ...{ code: 'STOP_PENDING', retryable: true, waitedMs: 500, waitsFor: 'work', term: 1 },
      message: expect.stringContaining('`lead` of term 1'),
    });
    // Also much later: as long as the work may act, no other candidate may lead.
    await clock.advance(10 * SESSION_TIMEOUT_MS);
    expect(server.paths('/election')).toHaveLength(3); // The election's node, and the leader's two nodes.
    expect(server.sessions()).toHaveLength(1);
  });

  it('goes on all the same: a later stop waits for the work, and then leadership is given back', async () => {
    const { clock, server, supervisor, work } = await hanging();
    await expect(clock.advanceUntil(supervisor.stop({ timeoutMs: 10 }))).rejects.toBeInstanceOf(
      StopPendingError,
    );
    const stopped = nextEvent(supervisor, 'stopped');
    const later = supervisor.stop();
    work.resolve(undefined);
    await clock.advanceUntil(later);
    await stopped;
    expect(server.paths('/election')).toEqual(['/election']);
    expect(server.sessions()).toEqual([]);
    await supervisor.stop({ timeoutMs: 0 });
  });

  it('resolves as ever when that is done in time, and leaves no timer', async () => {
    const { clock, server, supervisor, work, errors } = await hanging();
    const stopping = supervisor.stop({ timeoutMs: 60_000 });
    work.resolve(undefined);
    await clock.advanceUntil(stopping);
    await server.stop();
    expect(clock.timerCount).toBe(0);
    expect(errors).toEqual([]);
  });

  it('says after a lease, once, what it waits for, and is wedged from then on', async () => {
    const { clock, supervisor, work, errors } = await hanging();
    const stopping = supervisor.stop();
    void supervisor.stop();
    await clock.advance(LEASE_MS - 1);
    expect(errors).toEqual([]);
    expect(supervisor.health()).toMatchObject({ live: true, ready: false, wedged: false });
    await clock.advance(10 * LEASE_MS);
    expect(errors).toMatchObject([{ code: 'STOP_PENDING', waitedMs: LEASE_MS, waitsFor: 'work', term: 1 }]);
    expect(supervisor.health()).toMatchObject({ live: false, wedged: true });
    expect(supervisor.health().reasons[0]).toBe(
      'the term has ended (stopped), its work still runs, a lease after it was told to stop',
    );
    work.resolve(undefined);
    await clock.advanceUntil(stopping);
  });

  it('does so after a loss as well, when it is asked to stop while the work of the lost term still runs', async () => {
    const { clock, server, supervisor, errors } = await hanging();
    const expired = nextEvent(supervisor, 'expired');
    server.expireSession(() => true);
    await clock.advanceUntil(expired);
    const stopping = clock.advanceUntil(supervisor.stop({ timeoutMs: 10 }));
    await expect(stopping).rejects.toMatchObject({ waitsFor: 'work', term: 1 });
    await clock.advance(10 * LEASE_MS);
    expect(errors.map((each) => (each as StopPendingError).code)).toEqual(['WORK_OVERRUN', 'STOP_PENDING']);
    expect(supervisor.health()).toMatchObject({ live: false, wedged: true });
  });

  it('distinguishes a clean-up hook from work', async () => {
    const hook: Deferred<void> = deferred();
    const { clock, server, supervisor, errors } = await hanging({
      lead: () => undefined,
      cleanup: () => hook.promise,
    });
    server.expireSession(() => true);
    await clock.advanceUntil(() => supervisor.health().reasons[0] === 'the clean-up hook runs');
    const stopping = clock.advanceUntil(supervisor.stop({ timeoutMs: 10 }));
    const message = expect.stringContaining('the clean-up hook');
    await expect(stopping).rejects.toMatchObject({ waitsFor: 'cleanup', term: undefined, message });
    await clock.advance(2 * LEASE_MS);
    expect(errors).toMatchObject([{ code: 'STOP_PENDING', waitsFor: 'cleanup' }]);
    hook.resolve();
    await clock.advanceUntil(supervisor.stop());
  });

  it('names the servers when it is those that it waits for, and says nothing through error: that ends by itself', async () => {
    const { clock, server, supervisor, errors, work } = await hanging();
    work.resolve(undefined);
    server.pause();
    const stopping = clock.advanceUntil(supervisor.stop({ timeoutMs: 10 }));
    await expect(stopping).rejects.toMatchObject({ waitsFor: 'servers', term: undefined });
    await clock.advanceUntil(supervisor.stop());
    expect(errors).toEqual([]);
  });

  it('of an elector, names `lead` and what was given to waitUntil', async () => {
    const { clock, elector, errors, work } = await electorThatHangs((term, promise) => {
      term.waitUntil(promise);
      term.waitUntil(() => promise);
      return promise;
    });
    await expect(clock.advanceUntil(elector.stop({ timeoutMs: 0 }))).rejects.toThrow(
      '`lead` of term 1 and 2 pieces of work given to `waitUntil`',
    );
    await clock.advance(3 * LEASE_MS);
    expect(errors).toMatchObject([{ code: 'STOP_PENDING', term: 1 }]);
    expect([elector.isOverdue, elector.isWedged]).toEqual([true, false]);
    work.resolve(undefined);
    await clock.advanceUntil(elector.stop());
    expect(elector.isOverdue).toBe(false);
  });

  it('of an elector, names waitUntil alone when `lead` has settled', async () => {
    const { clock, elector, work } = await electorThatHangs((term, promise) => {
      term.waitUntil(promise);
      return new Promise((resolve) => term.signal.addEventListener('abort', resolve));
    });
    await expect(clock.advanceUntil(elector.stop({ timeoutMs: 10 }))).rejects.toThrow(
      '1 piece of work given to `waitUntil` in term 1 still runs',
    );
    work.resolve(undefined);
  });

  it('called from inside the work does not wait for it, whatever its time', async () => {
    const goOn = deferred();
    const stopped: unknown[] = [];
    const { clock, supervisor } = await hanging({
      lead: async () => {
        await goOn.promise;
        stopped.push(await supervisor.stop({ timeoutMs: 0 }).catch((thrown: unknown) => thrown));
      },
    });
    await clock.advanceUntil(eventAfter(supervisor, 'stopped', () => goOn.resolve()));
    expect(stopped).toEqual([undefined]);
  });

  it.each([-1, Number.NaN, '5', null])('refuses timeoutMs %j, and does not stop', async (timeoutMs) => {
    const { supervisor } = await hanging();
    const options = { timeoutMs } as { timeoutMs: number };
    await expect(supervisor.stop(options)).rejects.toMatchObject({ option: 'timeoutMs' });
    await expect(supervisor.stop({ timeout: 5 } as object)).rejects.toBeInstanceOf(InvalidOptionError);
    expect(supervisor.health().leading).toBe(true);
  });
});
