import { describe, expect, it, onTestFinished } from 'vitest';
import type { SessionLoss } from '../../src/cluster/supervisor/cleanup-hook.js';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import type { ElectionSupervisorOptions } from '../../src/cluster/supervisor/election-supervisor-options.js';
import { revokeLeader } from '../../src/election/revoke-leader.js';
import type { Term } from '../../src/election/term/term.js';
import { CleanupFailedError, InvalidStateError, NoServerError } from '../../src/errors.js';
import { deferred } from '../../src/platform/async/promises.js';
import { systemEnvironment } from '../../src/platform/injected-environment.js';
import { freePort } from '../../tools/ports.mjs';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { candidateNodes } from '../support/conclave/electors.js';
import { connectString, openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { aborted, errorsOf, eventAfter, nextEvent, recordEvents } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { until } from '../support/waiting.mjs';

const EVENTS = ['elected', 'demoted', 'expired', 'cleaned', 'restarting', 'stopped', 'error'];
const SOON = { minTimeout: 10, maxTimeout: 50 };

function supervise(options: Partial<ElectionSupervisorOptions> & { path: string }): ElectionSupervisor {
  const supervisor = new ElectionSupervisor({
    connect: connectString(),
    retry: SOON,
    ...options,
  });
  onTestFinished(() => supervisor.stop());
  return supervisor;
}

/** A server of the test's own, and an election there. */
async function startServer() {
  const { servers, connectString: connect, stop } = await startZooKeeper();
  onTestFinished(stop);
  return { server: servers[0], connect, path: '/election' };
}

/** Starts a supervisor that leads over a proxy. The result has a function that makes its session expire. */
async function leadOverProxy(options: Partial<ElectionSupervisorOptions> = {}) {
  const path = uniquePath('supervised');
  const proxy = await startProxy();
  const observer = await openSession();
  const session = { sessionTimeoutMs: 700 };
  const supervisor = supervise({ connect: proxy.connectString, path, session, ...options });
  const events = recordEvents(supervisor, ...EVENTS);
  const [term] = await eventAfter<[Term]>(supervisor, 'elected', () => supervisor.start());
  const expire = async () => {
    const expired = nextEvent(supervisor, 'expired');
    proxy.cut();
    await until(async () => (await observer.getChildren(path)).length === 0, 'the expiry');
    proxy.restore();
    await expired;
  };
  return { path, proxy, observer, supervisor, events, term, expire };
}

describe('a supervisor', () => {
  it('reports that it waits, behind how many, and for which node', async () => {
    const path = uniquePath('supervised');
    const first = supervise({ path });
    await first.start();
    const second = supervise({ path });
    const waiting = nextEvent(second, 'waiting');
    await second.start();
    expect(await waiting).toEqual([{ position: 1, ahead: expect.stringMatching(/^_c_.*-lock-\d+$/) }]);
  });

  it('leads, resigns, and stops, leaving nothing', async () => {
    const { session: observer, path } = await openWithPath('supervised');
    const supervisor = supervise({ path, id: 'one', data: 'here' });
    const events = recordEvents(supervisor, ...EVENTS);
    const elected = nextEvent<[Term]>(supervisor, 'elected');
    await Promise.all([supervisor.start(), supervisor.start()]);
    expect((await elected)[0]).toBe(supervisor.term);
    const healthy = { live: true, ready: true, leading: true, wedged: false, reasons: [] };
    expect(supervisor.health()).toEqual(healthy);
    await eventAfter(supervisor, 'elected', () => supervisor.resign());
    await Promise.all([supervisor.stop(), supervisor.stop()]);
    expect(await observer.getChildren(path)).toEqual([]);
    expect(events).toEqual(['elected', 'demoted', 'elected', 'demoted', 'stopped']);
    expect(supervisor.health()).toMatchObject({ live: false, reasons: ['stopped'] });
    await expect(supervisor.start()).rejects.toBeInstanceOf(InvalidStateError);
  });

  it('after an expiry: signal, demoted, expired, the hook, cleaned, restarting, elected, in this order', async () => {
    const steps: string[] = [];
    const losses: SessionLoss[] = [];
    const { supervisor, term, expire } = await leadOverProxy({
      lead: async ({ signal }) => {
        signal.addEventListener('abort', () => void steps.push('signal'));
        await aborted(signal);
        await new Promise((resolve) => setTimeout(resolve, 30));
        steps.push('work settled');
      },
      session: { sessionTimeoutMs: 700, leaseMs: 690 },
      cleanup: async (loss) => {
        losses.push(loss);
        await new Promise((resolve) => setTimeout(resolve, 30));
        steps.push('hook');
      },
    });
    for (const event of EVENTS) supervisor.on(event as 'expired', () => void steps.push(event));
    const [next] = await eventAfter<[Term]>(supervisor, 'elected', () => expire());
    const expected = ['signal', 'demoted', 'work settled', 'hook', 'cleaned', 'restarting', 'elected'];
    expect(steps.filter((step) => step !== 'expired' && step !== 'error')).toEqual(expected);
    expect(steps.indexOf('expired')).toBeGreaterThan(steps.indexOf('demoted'));
    expect(steps.indexOf('expired')).toBeLessThan(steps.indexOf('hook'));
    expect(losses).toHaveLength(1);
    expect(losses[0]).toMatchObject({ attempt: 1, reason: 'session-expired' });
    expect(losses[0]?.term).toBe(term);
    expect(next.number).toBe(term.number + 1);
  });

  it('calls a hook that throws again, and joins only when it has succeeded', async () => {
    const attempts: number[] = [];
    const { path, supervisor, observer, expire } = await leadOverProxy({
      cleanup: async ({ attempt }) => {
        attempts.push(attempt);
        expect(await observer.getChildren(path)).toEqual([]);
        if (attempt < 3) throw new TypeError('not yet'); // p-retry by itself would give up at a TypeError.
      },
    });
    const errors = errorsOf(supervisor);
    await eventAfter(supervisor, 'elected', () => expire());
    expect(attempts).toEqual([1, 2, 3]);
    expect(errors.filter((error) => !(error instanceof NoServerError))).toMatchObject([
      { code: 'CLEANUP_ATTEMPT_FAILED', attempt: 1 },
      { code: 'CLEANUP_ATTEMPT_FAILED', attempt: 2 },
    ]);
  });

  it('stops, rather than lead with dirty state, when the hook never succeeds', async () => {
    const { path, supervisor, observer, events, expire } = await leadOverProxy({
      cleanup: () => {
        throw 'never';
      },
      retry: { ...SOON, retries: 2 },
    });
    const errors = errorsOf(supervisor);
    await eventAfter(supervisor, 'stopped', () => expire());
    expect(errors.at(-1)).toBeInstanceOf(CleanupFailedError);
    expect(errors.at(-1)).toMatchObject({ attempts: 3, cause: 'never' });
    expect(events).not.toContain('restarting');
    expect(await observer.getChildren(path)).toEqual([]);
  });

  it('gives an attempt of the hook up after cleanupTimeoutMs, and aborts its signal', async () => {
    const reasons: unknown[] = [];
    const { supervisor, expire } = await leadOverProxy({
      cleanupTimeoutMs: 50,
      cleanup: async ({ attempt, signal }) => {
        if (attempt === 1) reasons.push(await aborted(signal));
      },
    });
    await eventAfter(supervisor, 'elected', () => expire());
    expect(reasons).toHaveLength(1);
  });

  it("stops when the hook says 'stop'", async () => {
    const { supervisor, events, expire } = await leadOverProxy({ cleanup: () => 'stop' as const });
    await eventAfter(supervisor, 'stopped', () => expire());
    expect(events.slice(-2)).toEqual(['cleaned', 'stopped']);
  });

  it('stopped while the hook runs, waits for it and does not join again', async () => {
    const [entered, hook] = [deferred(), deferred()];
    const { supervisor, events, expire } = await leadOverProxy({
      cleanup: () => {
        entered.resolve();
        return hook.promise;
      },
    });
    await expire();
    await entered.promise;
    const unready = { live: true, ready: false, reasons: ['the clean-up hook runs'] };
    expect(supervisor.health()).toMatchObject(unready);
    const stopping = supervisor.stop();
    hook.resolve();
    await stopping;
    expect(events.slice(-2)).toEqual(['cleaned', 'stopped']);
  });

  it('may be stopped by a hook that has gone on past its time, which does not wait for the one after the next loss', async () => {
    const secondRuns = deferred();
    const stopped = deferred();
    const calls: number[] = [];
    const late: boolean[] = [];
    const { supervisor, expire } = await leadOverProxy({
      cleanupTimeoutMs: 1000,
      cleanup: async ({ signal }) => {
        calls.push(calls.length + 1);
        if (calls.length === 1) {
          await secondRuns.promise;
          await supervisor.stop();
          stopped.resolve();
        } else if (calls.length === 3) {
          secondRuns.resolve();
          await stopped.promise;
          late.push(!(signal.reason instanceof InvalidStateError)); // The reason is the stop, not the end of the stop's time.
        }
      },
    });
    await eventAfter(supervisor, 'elected', () => expire());
    await eventAfter(supervisor, 'stopped', () => expire());
    expect(calls).toEqual([1, 2, 3]);
    expect(late).toEqual([false]);
  });

  it('calls the hook also when a supervisor that only waited loses the session', async () => {
    // With this timeout the leader keeps its session even on a busy machine. Only one cause may make the nodes fewer.
    const { path, supervisor: leader } = await leadOverProxy({ session: { sessionTimeoutMs: 30_000 } });
    const proxy = await startProxy();
    const observer = await openSession();
    const losses: SessionLoss[] = [];
    const waiter = supervise({
      connect: proxy.connectString,
      path,
      session: { sessionTimeoutMs: 700 },
      cleanup: (loss) => void losses.push(loss),
    });
    await waiter.start();
    const restarting = nextEvent(waiter, 'restarting');
    proxy.cut();
    await until(async () => (await candidateNodes(observer, path)).length === 1, 'the expiry');
    proxy.restore();
    await restarting;
    expect(losses).toMatchObject([{ term: undefined, reason: 'session-expired', attempt: 1 }]);
    await Promise.all([leader.stop(), waiter.stop()]);
  });

  it('hands over, and steps down when asked to: both without a clean-up, since no session is lost', async () => {
    const path = uniquePath('supervised');
    const cleanups: SessionLoss[] = [];
    const cleanup = (loss: SessionLoss) => void cleanups.push(loss);
    const make = (id: string) => supervise({ path, id, cleanup });
    const [a, b, c] = [make('a'), make('b'), make('c')];
    await eventAfter(a, 'elected', () => a.start());
    await b.start();
    await c.start();
    await eventAfter(c, 'elected', () => a.handOver('c'));
    const third = nextEvent<[Term]>(b, 'elected');
    const asked = await revokeLeader(await openSession(), path);
    expect(asked?.id).toBe('c');
    expect((await third)[0].number).toBe(3);
    await expect(a.handOver('b')).rejects.toBeInstanceOf(InvalidStateError);
    expect(cleanups).toEqual([]);
    await Promise.all([a.stop(), b.stop(), c.stop()]);
    await expect(a.handOver('b')).rejects.toBeInstanceOf(InvalidStateError);
  });
});

describe('a supervisor without a server', () => {
  it('waits, says so, and is elected once when one appears', async () => {
    const port = await freePort();
    const supervisor = supervise({
      connect: `127.0.0.1:${port}`,
      path: '/election',
      session: { connectTimeoutMs: 200 },
    });
    const events = recordEvents(supervisor, 'elected', 'demoted', 'error');
    const unreachable = nextEvent(supervisor, 'error');
    const starting = supervisor.start();
    expect(await unreachable).toEqual([
      expect.objectContaining({ code: 'NO_SERVER', address: `127.0.0.1:${port}`, retryable: true }),
    ]);
    await nextEvent(supervisor, 'restarting');
    expect(supervisor.health()).toMatchObject({ live: true, ready: false, leading: false });
    const zookeeper = await startZooKeeper({ port });
    onTestFinished(zookeeper.stop);
    await starting;
    await until(() => supervisor.term !== undefined);
    await supervisor.stop();
    expect(events.filter((event) => event !== 'error')).toEqual(['elected', 'demoted']);
  });

  it('says by the same error, and its cause, that the thread of its connections can not be started', async () => {
    const startThread = () => {
      throw new Error('threads are forbidden');
    };
    const environment = { ...systemEnvironment, startThread };
    const supervisor = supervise({
      path: uniquePath('supervised'),
      session: { maxStallMs: 60_000, environment },
    });
    const reported = nextEvent(supervisor, 'error');
    const starting = supervisor.start().catch((error: unknown) => error);
    const why = 'the thread that holds the connection has failed: threads are forbidden';
    expect(await reported).toEqual([
      expect.objectContaining({ code: 'NO_SERVER', cause: expect.objectContaining({ message: why }) }),
    ]);
    await supervisor.stop();
    expect(await starting).toBeInstanceOf(InvalidStateError);
  });

  it.each([0, 5, 300])('can be stopped, %i ms after start', async (ms) => {
    const path = uniquePath('supervised');
    const supervisor = supervise({ connect: `127.0.0.1:${await freePort()}`, path });
    const starting = supervisor.start().catch((error: unknown) => error);
    await new Promise((resolve) => setTimeout(resolve, ms));
    await supervisor.stop();
    expect(await starting).toBeInstanceOf(InvalidStateError);
  });

  it('gives up after retry.retries', async () => {
    const supervisor = supervise({
      connect: `127.0.0.1:${await freePort()}`,
      path: '/election',
      session: { connectTimeoutMs: 50 },
      retry: { ...SOON, retries: 1 },
    });
    const stopped = nextEvent(supervisor, 'stopped');
    await expect(supervisor.start()).rejects.toMatchObject({ code: 'CONNECT_TIMEOUT' });
    await stopped;
  });

  it('can be stopped in the middle of an election, and the processes end up with nothing held', async () => {
    const { server, ...at } = await startServer();
    const session = { sessionTimeoutMs: 1500 };
    const supervisor = supervise({ ...at, session });
    await supervisor.start();
    await until(() => supervisor.term !== undefined);
    const demoted = nextEvent(supervisor, 'demoted');
    await server?.kill();
    const began = performance.now();
    await supervisor.stop();
    await demoted;
    expect(performance.now() - began).toBeLessThan(1500 / 3 + 2000 + 500);
  });
});

describe('a server that is restarted', () => {
  it('leaves the leader its term, if that is quick', async () => {
    const { server, ...at } = await startServer();
    const session = { sessionTimeoutMs: 20_000, leaseMs: 15_000 };
    const supervisor = supervise({ ...at, session });
    const other = supervise({ ...at, session });
    await supervisor.start();
    await until(() => supervisor.term !== undefined);
    await other.start();
    const { term } = supervisor;
    await server?.stop();
    await server?.start();
    await until(() => other.health().ready);
    expect(supervisor.term).toBe(term);
    expect(term?.isHeld()).toBe(true);
    const elected = nextEvent<[Term]>(other, 'elected');
    await supervisor.stop();
    expect((await elected)[0].number).toBe(2);
    expect((await elected)[0].token).toBeGreaterThan(term?.token as bigint);
  });

  it('after longer than the sessions last: the election goes on, with one leader', async () => {
    const { server, ...at } = await startServer();
    const session = { sessionTimeoutMs: 600 };
    const supervisors = [1, 2, 3].map(() => supervise({ ...at, session }));
    for (const supervisor of supervisors) await supervisor.start();
    await until(() => supervisors.some(({ term }) => term !== undefined));
    const demoted = Promise.any(supervisors.map((supervisor) => nextEvent(supervisor, 'demoted')));
    await server?.kill();
    await demoted;
    await server?.start();
    await until(() => supervisors.filter((supervisor) => supervisor.health().leading).length === 1);
    await until(() => supervisors.every((supervisor) => supervisor.health().ready));
    expect(supervisors.filter((supervisor) => supervisor.health().leading)).toHaveLength(1);
  });
});
