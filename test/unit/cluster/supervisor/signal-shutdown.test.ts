import { constants } from 'node:os';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  resolveShutdown,
  SHUTDOWN_CHECKS,
  SignalShutdown,
} from '../../../../src/cluster/supervisor/signal-shutdown.js';
import { type OpenCandidacy, whatIsLeft } from '../../../../src/cluster/supervisor/supervised-elector.js';
import type { SupervisorState as AnyState } from '../../../../src/cluster/supervisor/supervisor-state.js';
import type { ElectorState } from '../../../../src/election/elector-state.js';
import type { LeaderElector } from '../../../../src/election/leader-elector.js';
import type { Term } from '../../../../src/election/term/term.js';
import { resolveLogger } from '../../../../src/platform/logging/logger.js';
import type { Session } from '../../../../src/session/session.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';

type SupervisorState = AnyState<OpenCandidacy>;

const settling = (state: ElectorState): SupervisorState => ({
  name: 'settling',
  participation: { elector: { state } as LeaderElector, session: {} as Session },
});
const ending = settling({ name: 'ending', term: { number: 7 } as Term, reason: 'stopped' });

describe('a shutdown that hangs says that', () => {
  it.each<[string, Parameters<typeof whatIsLeft>[0], SupervisorState]>([
    ['the work of term 7 still runs', 'settling', ending],
    ["the supervisor's clean-up hook still runs", 'settling', { name: 'cleaning', attempt: 2 }],
    // The supervisor lost the session only while the shutdown's own clean-up ran.
    ["the supervisor's clean-up hook still runs", 'leaving', { name: 'cleaning', attempt: 1 }],
    ['the election still has to be left', 'settling', settling({ name: 'joining' })],
    ['the election still has to be left', 'settling', { name: 'connecting', attempt: 1, sinceMs: 0 }],
    ['the clean-up of the shutdown still runs', 'cleaning', ending],
    ['the place in the election still has to be given back', 'leaving', ending],
    ['the session still has to be closed', 'leaving', settling({ name: 'stopped' })],
    ['the session still has to be closed', 'leaving', settling({ name: 'expired' })],
    ['the session still has to be closed', 'leaving', { name: 'cooling' }],
  ])('%s, when it has come to %s', (left, progress, state) => {
    expect(whatIsLeft(progress, state)).toBe(left);
  });
});

describe('a second signal during a shutdown', () => {
  const never = new Promise<undefined>(() => undefined);

  /** A shutdown on two signals, which hangs. Instead of ending the process it throws. */
  function hanging() {
    const clock = new TestClock();
    const leave = vi.fn(() => never);
    const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
      throw new Error(`exits with ${code}`);
    });
    const shutdown = new SignalShutdown(resolveShutdown(['SIGUSR2', 'SIGHUP'], {}, SHUTDOWN_CHECKS), {
      clock,
      logger: resolveLogger(undefined),
      held: () => ({}),
      whatIsLeft: () => 'all',
      leave,
    });
    onTestFinished(() => {
      exit.mockRestore();
      for (const signal of ['SIGUSR2', 'SIGHUP'])
        for (const each of process.listeners(signal as 'SIGHUP').filter((one) => !before.includes(one)))
          process.off(signal, each);
    });
    return { clock, leave, shutdown };
  }
  const before = [...process.listeners('SIGUSR2'), ...process.listeners('SIGHUP')];
  const send = (signal: 'SIGUSR2' | 'SIGHUP') => () => process.emit(signal, signal);

  it.each<[string, 'SIGUSR2' | 'SIGHUP', number]>([
    ['the same one after 100 ms', 'SIGUSR2', 100],
    ['another one in the same moment', 'SIGHUP', 0],
  ])('ends it at once: %s', (_, second, afterMs) => {
    const { clock } = hanging();
    send('SIGUSR2')();
    clock.jump(afterMs);
    expect(send(second)).toThrow(`exits with ${128 + constants.signals[second]}`);
  });

  it('is an echo if it is the same one within 100 ms, as npm hands on what the terminal has sent already', () => {
    const { clock, leave, shutdown } = hanging();
    send('SIGUSR2')();
    clock.jump(99);
    expect(send('SIGUSR2')).not.toThrow();
    expect(leave).toHaveBeenCalledOnce();
    shutdown.disarm(); // Too late: a shutdown that has begun still listens.
    clock.jump(1);
    expect(send('SIGUSR2')).toThrow();
  });
});

it('the deadline of a shutdown is over before Docker kills the process, which it does after 10 s, if neither is set', () => {
  expect(resolveShutdown(['SIGTERM'], {}, SHUTDOWN_CHECKS).deadlineMs).toBe(8000);
});
