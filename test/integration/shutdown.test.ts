import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { execaNode } from 'execa';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import type { Term } from '../../src/election/term/term.js';
import { InvalidStateError } from '../../src/errors.js';
import { freePort } from '../../tools/ports.mjs';
import { connectString, openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { endsWithTest } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';

const FIXTURE = join(import.meta.dirname, '../fixtures/supervised-shutdown.mjs');
// The delay that a shared machine may add to any wait.
const SLACK_MS = 1500;

interface Situation {
  readonly work?: 'hangs' | 'stays';
  readonly hook?: 'none' | 'hangs' | 'fails' | 'calls';
  readonly network?: 'fails' | 'is cut';
  readonly cleanup?: 'hangs';
  readonly handlers?: 'none' | 'taken back' | 'stops';
  readonly deadlineMs?: number;
  readonly exitCode?: number;
  readonly session?: { readonly sessionTimeoutMs: number };
  readonly connect?: string;
  readonly path?: string;
}

/** Starts a process in this situation. The test can send it signals as soon as it has printed `when`. */
async function begin(situation: Situation, when = 'leads') {
  const path = situation.path ?? uniquePath('shutdown');
  const child = execaNode(FIXTURE, [JSON.stringify({ connect: connectString(), path, ...situation })], {
    ipc: false,
    reject: false,
    timeout: 30_000,
  });
  const lines: string[] = [];
  const heard = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      lines.push(...chunk.toString().trim().split('\n'));
      if (lines.includes(when)) resolve();
    });
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const send = async (...signals: NodeJS.Signals[]) => {
    await heard;
    const sentAt = performance.now();
    for (const [index, signal] of signals.entries()) {
      if (index > 0) {
        await until(() => lines.some((line) => line.startsWith('cleans up')));
        await new Promise((resolve) => setTimeout(resolve, 150)); // An earlier signal would count as the same one.
      }
      child.kill(signal);
    }
    const { exitCode, signal, stdout, stderr } = await child;
    return { exitCode, signal, stdout: stdout.split('\n'), stderr, tookMs: performance.now() - sentAt };
  };
  return { path, heard, send };
}

describe('a process that shuts down on a signal', () => {
  it('stops its work, cleans up, gives the term back, closes, and exits with 0, all in under a second', async () => {
    const { path, heard, send } = await begin({});
    await heard;
    const session = await openSession();
    const successor = endsWithTest(new LeaderElector(session, path));
    const elected = nextEvent<[Term]>(successor, 'elected');
    await successor.start();
    const { exitCode, stdout, stderr, tookMs } = await send('SIGTERM');
    expect(stdout.filter((line) => line !== 'stands')).toEqual([
      'ready',
      'leads',
      'demoted stopped',
      'told to stop',
      'work settled',
      'cleans up SIGTERM term 1 with time left',
      'cleaned up',
    ]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(tookMs).toBeLessThan(1000 + SLACK_MS);
    const [term] = await elected;
    expect(term.number).toBe(2);
    // The term's own transaction wrote it in the clean-up, before the successor's claim.
    expect((await session.exists(`${path}/last-word`))?.czxid).toBeLessThan(term.token);
  });

  it('exits in under a second with nothing to clean up', async () => {
    const { send } = await begin({ hook: 'none' });
    const { exitCode, tookMs } = await send('SIGINT');
    expect(exitCode).toBe(0);
    expect(tookMs).toBeLessThan(1000 + SLACK_MS);
  });

  it('cleans up also if it only waits, and leaves the queue', async () => {
    const { session, path } = await openWithPath('shutdown');
    const leader = endsWithTest(new LeaderElector(session, path));
    await leader.start();
    await until(() => leader.term !== undefined);
    const { send } = await begin({ path }, 'stands');
    const { exitCode, stdout } = await send('SIGTERM');
    expect(stdout.slice(2)).toEqual(['cleans up SIGTERM term none with time left', 'cleaned up']);
    expect(exitCode).toBe(0);
    expect(await leader.candidates()).toHaveLength(1);
  });

  it('does so while it still looks for a server, and start() that rejects then does no harm', async () => {
    const { send } = await begin({ connect: `127.0.0.1:${await freePort()}` }, 'ready');
    const { exitCode, stdout, stderr } = await send('SIGTERM');
    expect(stdout.at(-1)).toBe('cleaned up');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });

  it('exits with the code that was asked for', async () => {
    const { send } = await begin({ exitCode: 143 });
    expect(await send('SIGTERM')).toMatchObject({ exitCode: 143, stderr: '' });
  });

  it('goes on after a clean-up that fails, and exits with 1', async () => {
    const { path, send } = await begin({ hook: 'fails' });
    const { exitCode, stderr } = await send('SIGTERM');
    expect(exitCode).toBe(1);
    const [line, ...stack] = stderr.split('\n');
    expect(line).toBe('conclave: the clean-up of the shutdown failed: the disk is full');
    expect(stack[1]).toMatch(/^ {8}at .*supervised-shutdown\.mjs/);
    const session = await openSession();
    expect(await session.getChildren(path)).toEqual([]);
  });

  it('may stop and resign the supervisor in its clean-up, which does not wait for its own end', async () => {
    const { send } = await begin({ hook: 'calls' });
    expect(await send('SIGTERM')).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it.each<[string, Situation, string, string]>([
    ['the clean-up', { hook: 'hangs' }, 'leads', 'the clean-up of the shutdown still runs'],
    ["the leader's work", { work: 'hangs' }, 'leads', 'the work of term 1 still runs'],
    ['the release', { network: 'fails' }, 'leads', 'the place in the election still has to be given back'],
    [
      "the supervisor's clean-up after a loss",
      { network: 'is cut', session: { sessionTimeoutMs: 700 }, cleanup: 'hangs' },
      'supervisor cleans up',
      "the supervisor's clean-up hook still runs",
    ],
  ])('says so and exits with 124 at the deadline when %s hangs', async (_, situation, when, left) => {
    const { send } = await begin({ deadlineMs: 1000, ...situation }, when);
    const { exitCode, stderr, tookMs } = await send('SIGTERM');
    expect(stderr).toBe(
      `conclave: the shutdown did not end within 1000 ms of SIGTERM: ${left}; exiting with code 124`,
    );
    expect(exitCode).toBe(124);
    expect(tookMs).toBeGreaterThanOrEqual(990);
    expect(tookMs).toBeLessThan(1000 + SLACK_MS);
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('exits at once when a second signal, %s, comes', async (second, code) => {
    const { send } = await begin({ hook: 'hangs' });
    const { exitCode, stderr, tookMs } = await send('SIGTERM', second);
    expect(exitCode).toBe(code);
    expect(stderr).toBe(`conclave: ${second} during the shutdown: exiting at once`);
    expect(tookMs).toBeLessThan(SLACK_MS);
  });

  it.each([
    ['when the application asked for nothing else', 'none'],
    ['when what was asked for was taken back', 'taken back'],
  ] as const)('is ended by the signal itself %s', async (_, handlers) => {
    const { send } = await begin({ handlers });
    expect(await send('SIGTERM')).toMatchObject({ exitCode: undefined, signal: 'SIGTERM' });
  });

  it('listens no more when the supervisor has stopped by itself', async () => {
    const { send } = await begin({ handlers: 'stops' }, 'ready');
    const { signal, stdout } = await send('SIGTERM');
    expect(stdout[0]).toBe('handlers 0');
    expect(signal).toBe('SIGTERM');
  });
});

describe('shutdownOn', () => {
  const supervisor = () => new ElectionSupervisor({ connect: '127.0.0.1:1', path: '/election' });

  it('is asked for once at a time, and not of a supervisor that has stopped', async () => {
    const before = process.listenerCount('SIGUSR2');
    const one = supervisor();
    const takeBack = one.shutdownOn(['SIGUSR2', 'SIGUSR2']);
    expect(process.listenerCount('SIGUSR2')).toBe(before + 1);
    expect(() => one.shutdownOn(['SIGHUP'])).toThrow(InvalidStateError);
    takeBack();
    takeBack();
    expect(process.listenerCount('SIGUSR2')).toBe(before);
    one.shutdownOn(['SIGUSR2'], { cleanup: () => undefined, deadlineMs: 1, exitCode: 3 });
    await one.stop();
    expect(process.listenerCount('SIGUSR2')).toBe(before);
    expect(() => one.shutdownOn(['SIGUSR2'])).toThrow(InvalidStateError);
  });

  it.each(['an ElectionSupervisor', 'a ShardSupervisor'])(
    'of %s throws in a worker thread, which gets no signals (nothing happened at a signal)',
    async (workerData) => {
      const thread = new Worker(join(import.meta.dirname, '../fixtures/shutdown-in-thread.mjs'), {
        workerData,
      });
      // A thread that ends may deliver its last message and its end in one go.
      const ended = nextEvent(thread, 'exit');
      const [answer] = await nextEvent(thread, 'message');
      expect(answer).toEqual({
        code: 'INVALID_STATE',
        message: expect.stringContaining('handle the signals in the main thread'),
        listeners: 0,
      });
      await ended;
    },
  );

  it.each<[string, unknown, unknown]>([
    ['signals', undefined, undefined],
    ['signals', 'SIGTERM', undefined],
    ['signals', [], undefined],
    ['signals', ['SIGTERM', 'SIGNONE'], undefined],
    ['signals', ['toString'], undefined],
    ['signals', ['SIGKILL'], undefined],
    ['shutdown', ['SIGTERM'], null],
    ['shutdown.timeoutMs', ['SIGTERM'], { timeoutMs: 1 }],
    ['shutdown.deadlineMs', ['SIGTERM'], { deadlineMs: 0 }],
    ['shutdown.deadlineMs', ['SIGTERM'], { deadlineMs: Infinity }],
    ['shutdown.cleanup', ['SIGTERM'], { cleanup: true }],
    ['shutdown.exitCode', ['SIGTERM'], { exitCode: 256 }],
    ['shutdown.exitCode', ['SIGTERM'], { exitCode: '0' }],
  ])('refuses a wrong value of %s', (option, signals, options) => {
    const before = process.listenerCount('SIGTERM');
    const call = () => supervisor().shutdownOn(signals as ['SIGTERM'], options as object);
    expect(call).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', option }));
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });
});
