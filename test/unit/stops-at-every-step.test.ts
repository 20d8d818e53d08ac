import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import type { Term } from '../../src/election/term/term.js';
import { ignore } from '../../src/platform/async/promises.js';
import type { Environment } from '../../src/platform/injected-environment.js';
import { type Clock, sleep } from '../../src/platform/time/clock.js';
import { EmbeddedZooKeeper, TestClock } from '../../src/testing/index.js';
import { aborted } from '../support/events.js';
import { SILENT } from '../support/silent-logger.mjs';

const EVENTS = ['elected', 'demoted', 'expired', 'cleaned', 'restarting', 'stopped'];
const SIGNAL = 'SIGUSR2';

/** The environment of `clock`, which calls `step` at each use of it, and at each timer. */
function stepping(clock: TestClock, step: () => void): Environment {
  const { environment } = clock;
  const stepped = <T>(value: T): T => {
    step();
    return value;
  };
  const run = (task: () => void) => () => {
    step();
    task();
  };
  const counted: Clock = {
    now: () => stepped(clock.now()),
    date: () => clock.date(),
    after: (ms, task) => stepped(clock.after(ms, run(task))),
  };
  return {
    ...environment,
    clock: counted,
    random: () => stepped(0.5),
    uuid: () => stepped(environment.uuid()),
    openSocket: (...target) => stepped(environment.openSocket(...target)),
  };
}

/** One life of a supervisor: its events, in order, and what it left behind. */
interface Life {
  readonly heard: readonly string[];
  readonly steps: number;
  readonly timers: number;
  readonly sessions: number;
}

/**
 * Runs a leader that loses its session. Its work settles a while later, and its hook fails at first. It loses the next session before
 * it has a place in the queue, and is then elected again. The test ends it at step `at`, or else a while after that.
 */
async function live(at: number, end: (supervisor: ElectionSupervisor) => unknown): Promise<Life> {
  const clock = new TestClock();
  const server = await EmbeddedZooKeeper.start({ clock, logger: SILENT });
  const heard: string[] = [];
  let steps = 0;
  const count = (what: string) => heard.filter((each) => each === what).length;
  const ask = () => {
    if (count('asked to stop') > 0) return;
    heard.push('asked to stop');
    void end(supervisor);
  };
  const step = () => {
    // In a microtask, not in the middle of the running code, because applications have turns of their own.
    if (++steps === at) queueMicrotask(ask);
  };
  const hear = (what: string) => {
    heard.push(what);
    step();
  };
  const expireAll = () => server.expireSession(() => true);
  const supervisor: ElectionSupervisor = new ElectionSupervisor({
    connect: server.connectString,
    path: '/election',
    id: 'one',
    logger: SILENT,
    session: { environment: stepping(clock, step) },
    retry: { minTimeout: 200, maxTimeout: 200 },
    lead: async ({ signal }: Term) => {
      await aborted(signal);
      await sleep(clock, 700);
    },
    cleanup: async () => {
      hear('hook');
      await sleep(clock, 100);
      if (count('hook') === 1) throw new Error('not yet');
    },
  });
  for (const event of EVENTS) supervisor.on(event as 'expired', () => hear(event));
  supervisor.on('error', ({ name }) => hear(name));
  supervisor.on('elected', () => void clock.after(100, count('elected') === 1 ? expireAll : ask));
  supervisor.once('restarting', () => {
    const lost = server.swallowReply('create', { times: 1 });
    clock.after(100, () => {
      lost.clear();
      expireAll();
    });
  });
  if (end === bySignal) supervisor.shutdownOn([SIGNAL], { cleanup: () => hear('clean-up of the shutdown') });
  supervisor.start().catch(ignore); // Rejects if it is stopped before it has a place.
  await clock.advanceUntil(() => heard.includes('stopped'));
  await clock.advance(5000);
  const life = { heard, steps, timers: clock.timerCount, sessions: server.sessions().length };
  await server.stop();
  return life;
}

const byCall = (supervisor: ElectionSupervisor) => supervisor.stop();
const bySignal = () => process.emit(SIGNAL, SIGNAL);

/** Checks a life that was ended at any step. */
function checkLife({ heard, sessions }: Life): void {
  const order = heard.join(', ');
  const after = (what: string) => heard.slice(heard.lastIndexOf(what));
  let isOwed = false;
  for (const each of heard) {
    if (each === 'hook') isOwed = false;
    if (each === 'expired') isOwed = true;
    if (isOwed) expect(['elected', 'restarting', 'stopped'], order).not.toContain(each);
  }
  expect(heard.filter((each) => each === 'stopped')).toHaveLength(1);
  expect(heard.at(-1), order).toBe('stopped');
  const calls = after('asked to stop').filter((each) => each === 'hook').length;
  expect(calls, order).toBeLessThanOrEqual(1);
  // Either the hook has succeeded, or the supervisor reports that it hasn't.
  if (heard.includes('hook'))
    expect(after('hook').filter((each) => each === 'cleaned' || each === 'CleanupFailedError')).toHaveLength(
      1,
    );
  expect(sessions, order).toBe(0);
}

describe('the hook is called at least once for each loss, before `stopped`', () => {
  it('when the supervisor is stopped at any step of its life', async () => {
    const whole = await live(Number.POSITIVE_INFINITY, byCall);
    expect(whole.heard.join(' ')).toBe(
      'elected demoted expired hook CleanupAttemptError hook cleaned restarting ' +
        'expired hook cleaned restarting elected asked to stop demoted stopped',
    );
    expect(whole.steps).toBeGreaterThan(100);
    for (let at = 1; at <= whole.steps; at++) {
      const life = await live(at, byCall);
      checkLife(life);
      expect(life.timers).toBe(0);
    }
  });

  it('when a signal ends its process at any step of its life, and the clean-up of the shutdown is called once, last', async () => {
    const exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as never);
    const stderr = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
    onTestFinished(() => {
      exit.mockRestore();
      stderr.mockRestore();
    });
    const { steps } = await live(Number.POSITIVE_INFINITY, byCall);
    for (let at = 1; at <= steps; at += 2) {
      const { heard, ...rest } = await live(at, bySignal);
      process.removeAllListeners(SIGNAL);
      checkLife({ heard, ...rest });
      expect(heard.at(-2), heard.join(', ')).toBe('clean-up of the shutdown');
      expect(heard.filter((each) => each === 'clean-up of the shutdown')).toHaveLength(1);
    }
  });
});
