import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { SessionLoss } from '../../src/cluster/supervisor/cleanup-hook.js';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import type { ElectionSupervisorOptions } from '../../src/cluster/supervisor/election-supervisor-options.js';
import { CleanupFailedError } from '../../src/errors.js';
import { type Deferred, deferred } from '../../src/platform/async/promises.js';
import { sleep } from '../../src/platform/time/clock.js';
import { nextEvent, recordEvents } from '../../src/testing/index.js';
import { errorsOf, eventAfter } from '../support/events.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';

const EVENTS = ['expired', 'cleaned', 'restarting', 'stopped', 'error'];

/** Starts a leader whose work settles when the test says so. */
async function leading(options: Partial<ElectionSupervisorOptions> = {}) {
  const { clock, server } = await startWithTestClock();
  const work: Deferred<unknown> = deferred();
  const steps: string[] = [];
  const losses: SessionLoss[] = [];
  const supervisor: ElectionSupervisor = new ElectionSupervisor({
    connect: server.connectString,
    path: '/election',
    session: { sessionTimeoutMs: 6000, environment: clock.environment },
    lead: () => work.promise,
    ...options,
    cleanup: async (loss) => {
      losses.push(loss);
      steps.push('hook');
      return await options.cleanup?.(loss);
    },
  });
  for (const event of EVENTS) supervisor.on(event as 'expired', () => void steps.push(event));
  const errors = errorsOf(supervisor);
  onTestFinished(async () => {
    work.resolve(undefined);
    await clock.advanceUntil(supervisor.stop());
    await server.stop();
    expect(clock.timerCount).toBe(0);
  });
  await clock.advanceUntil(eventAfter(supervisor, 'elected', () => supervisor.start()));
  const expire = async () => {
    const expired = nextEvent(supervisor, 'expired');
    server.expireSession(() => true);
    await clock.advanceUntil(expired);
  };
  return { clock, server, supervisor, work, steps, losses, errors, expire };
}

describe('a supervisor that is stopped after the loss of a session', () => {
  it('cleans up all the same when the work of the lost term has still to settle', async () => {
    const { clock, supervisor, work, steps, losses, expire } = await leading();
    const { term } = supervisor;
    await expire();
    const stopping = supervisor.stop();
    await clock.advance(1000);
    expect(losses).toEqual([]);
    work.resolve(undefined);
    await clock.advanceUntil(stopping);
    expect(steps).toEqual(['expired', 'hook', 'cleaned', 'stopped']);
    expect(losses).toMatchObject([{ term, reason: 'session-expired', attempt: 1, stopping: true }]);
  });

  it('gives the one call that it makes then its time: a signal that had aborted already would end it at once', async () => {
    const seen: boolean[] = [];
    const { clock, supervisor, work, steps, expire } = await leading({
      cleanup: async ({ signal }) => {
        seen.push(signal.aborted);
        await sleep(clock, 1500, signal); // At most a lease: after that the supervisor would report the wait.
        seen.push(signal.aborted);
      },
    });
    await expire();
    const stopping = supervisor.stop();
    work.resolve(undefined);
    await clock.advanceUntil(stopping);
    expect(seen).toEqual([false, false]);
    expect(steps).toEqual(['expired', 'hook', 'cleaned', 'stopped']);
  });

  it('reports that the clean-up is outstanding when that one call fails, or takes longer than its time', async () => {
    for (const cleanup of [() => Promise.reject(new Error('no disk')), () => deferred().promise]) {
      const { clock, supervisor, work, steps, errors, expire } = await leading({
        cleanup,
        cleanupTimeoutMs: 700,
      });
      await expire();
      const stopping = supervisor.stop();
      work.resolve(undefined);
      const begunAt = clock.now();
      await clock.advanceUntil(stopping);
      expect(clock.now() - begunAt).toBeLessThanOrEqual(700);
      expect(steps).toEqual(['expired', 'hook', 'error', 'error', 'stopped']);
      expect(errors).toMatchObject([
        { code: 'CLEANUP_ATTEMPT_FAILED' },
        { code: 'CLEANUP_FAILED', attempts: 1 },
      ]);
      expect(errors[1]?.message).toContain('outstanding');
    }
  });

  it('calls a hook that has failed once more, at once, when it is stopped in the pause after that', async () => {
    const { clock, supervisor, work, steps, losses, expire } = await leading({
      cleanup: ({ attempt }) => {
        if (attempt === 1) throw new Error('not yet');
      },
      retry: { minTimeout: 60_000, maxTimeout: 60_000 },
    });
    work.resolve(undefined);
    await expire();
    await clock.advanceUntil(() => steps.includes('error'));
    const pausedAt = clock.now();
    await clock.advanceUntil(supervisor.stop());
    expect(clock.now() - pausedAt).toBeLessThan(100);
    expect(steps).toEqual(['expired', 'hook', 'error', 'hook', 'cleaned', 'stopped']);
    expect(losses).toMatchObject([
      { attempt: 1, stopping: false },
      { attempt: 2, stopping: true },
    ]);
  });

  it('reports that the clean-up is outstanding when a hook that has failed fails again then', async () => {
    const { clock, supervisor, work, steps, errors, expire } = await leading({
      cleanup: () => Promise.reject(new Error('no disk')),
      retry: { minTimeout: 60_000, maxTimeout: 60_000 },
    });
    work.resolve(undefined);
    await expire();
    await clock.advanceUntil(() => steps.includes('error'));
    await clock.advanceUntil(supervisor.stop());
    expect(steps).toEqual(['expired', 'hook', 'error', 'hook', 'error', 'error', 'stopped']);
    expect(errors.at(-1)).toBeInstanceOf(CleanupFailedError);
    expect(errors.at(-1)).toMatchObject({ attempts: 2, cause: { message: 'no disk' } });
  });

  it('aborts the signal of a call of the hook that is under way, and waits for it', async () => {
    const goOn = deferred();
    const { clock, supervisor, work, steps, losses, expire } = await leading({ cleanup: () => goOn.promise });
    work.resolve(undefined);
    await expire();
    await clock.advanceUntil(() => losses.length > 0);
    expect(losses[0]?.signal.aborted).toBe(false);
    const stopping = supervisor.stop();
    expect(losses[0]?.signal.reason).toMatchObject({ code: 'INVALID_STATE' });
    await clock.advance(1000);
    expect(steps).toEqual(['expired', 'hook']);
    goOn.resolve();
    await clock.advanceUntil(stopping);
    expect(steps).toEqual(['expired', 'hook', 'cleaned', 'stopped']);
  });

  it('calls the hook once more when that signal has ended it, within cleanupTimeoutMs of the stop', async () => {
    const { clock, supervisor, work, steps, losses, errors, expire } = await leading({
      cleanupTimeoutMs: 10_000,
      cleanup: async ({ attempt, signal }) => {
        if (attempt === 2) await deferred().promise;
        await sleep(clock, 8000, signal); // This sleep obeys its signal.
      },
    });
    work.resolve(undefined);
    await expire();
    await clock.advanceUntil(() => losses.length > 0);
    await clock.advance(5000);
    const stoppedAt = clock.now();
    await clock.advanceUntil(supervisor.stop());
    expect(clock.now() - stoppedAt).toBe(10_000);
    expect(steps.filter((step) => step !== 'error')).toEqual(['expired', 'hook', 'hook', 'stopped']);
    expect(errors.map(({ name }) => name)).toEqual([
      'CleanupAttemptError',
      'StopPendingError',
      'CleanupAttemptError',
      'CleanupFailedError',
    ]);
  });

  it('waits for no end of its own when the hook of a stop under way stops it again', async () => {
    const { clock, supervisor, work, steps, expire } = await leading({
      cleanup: async () => {
        await supervisor.stop({ timeoutMs: 1 });
        steps.push('stop() came back');
      },
    });
    await expire();
    const stopping = supervisor.stop();
    work.resolve(undefined);
    await clock.advanceUntil(stopping);
    expect(steps).toEqual(['expired', 'hook', 'stop() came back', 'cleaned', 'stopped']);
  });

  it('cleans up also when its lease has ended, and no server says what has become of the session', async () => {
    const { clock, server, supervisor, work, steps, losses } = await leading();
    const { term } = supervisor;
    await clock.advanceUntil(eventAfter(supervisor, 'demoted', () => server.partition()));
    work.resolve(undefined);
    await clock.advanceUntil(() =>
      supervisor.health().reasons.some((reason) => reason.startsWith('no server')),
    );
    await clock.advanceUntil(supervisor.stop());
    expect(losses).toMatchObject([{ term, reason: 'lease-expired', attempt: 1 }]);
    expect(steps.slice(-3)).toEqual(['hook', 'cleaned', 'stopped']);
  });

  it('does not say that it joins again, when it has no hook', async () => {
    const { clock, server } = await startWithTestClock();
    const { environment } = clock;
    const supervisor = new ElectionSupervisor({
      connect: server.connectString,
      path: '/election',
      session: { environment },
      lead: ({ signal }) => sleep(clock, 60_000, signal).catch(() => sleep(clock, 1000)),
    });
    const events = recordEvents(supervisor, 'expired', 'restarting', 'stopped');
    await clock.advanceUntil(eventAfter(supervisor, 'elected', () => supervisor.start()));
    const expired = nextEvent(supervisor, 'expired');
    server.expireSession(() => true);
    await clock.advanceUntil(expired);
    await clock.advanceUntil(supervisor.stop());
    expect(events).toEqual(['expired', 'stopped']);
  });

  it('has nothing to clean up when it loses nothing', async () => {
    const { clock, supervisor, work, steps } = await leading();
    work.resolve(undefined);
    await clock.advanceUntil(supervisor.stop());
    expect(steps).toEqual(['stopped']);
  });
});

it('a session that is lost before it has a place in the queue is cleaned up after, as any other', async () => {
  const { clock, server, supervisor, work, steps, losses, expire } = await leading();
  work.resolve(undefined);
  const create = server.swallowReply('multi', { path: /\/_h_/ });
  const elected = nextEvent(supervisor, 'elected');
  await expire();
  await clock.advanceUntil(() => create.hits > 0);
  expect(losses).toHaveLength(1);
  server.expireSession(() => true);
  await clock.advanceUntil(elected);
  expect(losses).toMatchObject([{ attempt: 1 }, { attempt: 1, term: undefined, reason: 'session-expired' }]);
  expect(steps.filter((step) => step === 'expired' || step === 'cleaned')).toEqual([
    'expired',
    'cleaned',
    'expired',
    'cleaned',
  ]);
});

describe('a shutdown on a signal after the loss of a session', () => {
  /** Lets a leader shut down without really ending the process. `exited` resolves with the exit code. */
  async function shuttingDown(options: Partial<ElectionSupervisorOptions> = {}) {
    const run = await leading(options);
    const exited = deferred<unknown>();
    const said: string[] = [];
    const exit = vi
      .spyOn(process, 'exit')
      .mockImplementation(((code: unknown) => exited.resolve(code)) as never);
    const stderr = vi
      .spyOn(process.stderr, 'write')
      .mockImplementation((line) => said.push(String(line)) > 0);
    onTestFinished(() => {
      exit.mockRestore();
      stderr.mockRestore();
      process.removeAllListeners('SIGUSR2');
    });
    run.supervisor.shutdownOn(['SIGUSR2'], {
      cleanup: () => void run.steps.push('clean-up of the shutdown'),
    });
    return { ...run, exited: exited.promise, said };
  }

  it('calls the hook when the work has settled, and its own clean-up after that', async () => {
    const { clock, work, steps, exited, said, expire } = await shuttingDown();
    await expire();
    process.emit('SIGUSR2', 'SIGUSR2');
    await clock.advance(1000);
    work.resolve(undefined);
    expect(await clock.advanceUntil(exited)).toBe(0);
    expect(steps).toEqual(['expired', 'hook', 'cleaned', 'clean-up of the shutdown', 'stopped']);
    expect(said).toEqual([]);
    await clock.advance(20_000); // Until the deadline's timer, which a real exit would have ended.
  });

  it('exits with 1, and says so, when the clean-up stays outstanding', async () => {
    const { clock, work, steps, exited, said, expire } = await shuttingDown({
      cleanup: () => Promise.reject(new Error('no disk')),
    });
    await expire();
    process.emit('SIGUSR2', 'SIGUSR2');
    work.resolve(undefined);
    expect(await clock.advanceUntil(exited)).toBe(1);
    expect(steps.slice(-2)).toEqual(['clean-up of the shutdown', 'stopped']);
    expect(said.join('')).toMatch(/^conclave: the clean-up hook failed .*no disk/);
    await clock.advance(20_000);
  });
});
