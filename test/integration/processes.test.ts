import { spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { execaNode } from 'execa';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import type { Term } from '../../src/election/term/term.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { prefersEmbedded } from '../../tools/zookeeper/embedded.mjs';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { fourLetterWord } from '../../tools/zookeeper/four-letter-word.mjs';
import { BROKEN_OUTPUTS, type BrokenOutputName } from '../support/conclave/broken-outputs.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { endsWithTest } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';

const fixture = (name: string) => join(import.meta.dirname, '../fixtures', name);
/** The address of a module that does this in every thread but the main one. */
const preload = (code: string) =>
  `data:text/javascript,${encodeURIComponent(`import { isMainThread } from 'node:worker_threads'; if (!isMainThread) { ${code} }`)}`;
const PERMISSION_MODEL = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

it('a leader whose process is killed is replaced when its lease is over, before its session ends; the term counts up, the token rises', async () => {
  const zookeeper = endsWithTest(await startZooKeeper({ tickMs: 200 }));
  const path = uniquePath('killed');
  const sessionTimeoutMs = 3600;
  const child = execaNode(fixture('leader.mjs'), [zookeeper.connectString, path, String(sessionTimeoutMs)], {
    reject: false,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [first] = await nextEvent<[Buffer]>(child.stdout, 'data');
  const [, number, token] = /^elected (\d+) (\d+)/.exec(first.toString()) ?? [];
  expect(number).toBe('1');

  const session = await openSession({}, zookeeper.connectString);
  const elector = new LeaderElector(session, path);
  const elected = nextEvent<[Term]>(elector, 'elected');
  await elector.start();
  const killedAt = performance.now();
  child.kill('SIGKILL');
  const [term] = await elected;
  const tookMs = performance.now() - killedAt;
  // A heartbeat came within the last quarter of a lease. On a busy machine the next heartbeat may have been late.
  expect(tookMs).toBeGreaterThan(sessionTimeoutMs / 3 / 2);
  expect(tookMs).toBeLessThan(sessionTimeoutMs);
  expect(term.number).toBe(2);
  expect(term.token).toBeGreaterThan(BigInt(token as string));
  await elector.stop();
});

it('a leader whose process is stopped has acted for the last time before its successor is elected, and does not act when it goes on', async () => {
  const path = uniquePath('stalled');
  const child = execaNode(fixture('acting-leader.mjs'), [connectString(), path, '900'], {
    reject: false,
    buffer: false,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: { acts: boolean; at: bigint }[] = [];
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    const parts = (text + chunk.toString()).split('\n');
    text = parts.pop() ?? '';
    for (const part of parts) lines.push({ acts: part.startsWith('acts'), at: BigInt(part.slice(5)) });
  });
  await until(() => lines.length > 20);
  const elector = new LeaderElector(await openSession(), path);
  const elected = nextEvent(elector, 'elected').then(() => process.hrtime.bigint());
  await elector.start();
  child.kill('SIGSTOP');
  const electedAt = await elected;
  const before = lines.length;
  child.kill('SIGCONT');
  await until(() => lines.length > before + 20);
  const lastAct = lines.filter(({ acts }) => acts).at(-1);
  expect(lastAct?.at).toBeLessThan(electedAt);
  expect(lines.at(-1)?.acts).toBe(false);
  await elector.stop();
});

describe('a process that has stopped everything', () => {
  it.each(['none', 'network'])('ends by itself, with no exit forced (fault: %s)', async (fault) => {
    const { stdout, exitCode } = await execaNode(
      fixture('use-everything.mjs'),
      [connectString(), uniquePath('life'), fault],
      {
        timeout: 30_000,
      },
    );
    expect(stdout).toBe('all stopped');
    expect(exitCode).toBe(0);
  });
});

describe('a session that is closed', () => {
  it.each([
    'connecting',
    'handshake',
    'connected',
    'suspended',
    'black hole',
    'black hole, with a limit',
    'expired',
    'closed, and twice at once',
    'in a listener of suspended',
    'in a listener of resumed',
    'in a listener of closed',
  ])('settles within 2 s and leaves nothing that keeps the process alive: %s', async (state) => {
    const { stdout, exitCode } = await execaNode(fixture('close-session.mjs'), [connectString(), state], {
      timeout: 10_000,
    });
    const took = Number(/^closed in (\d+) ms$/.exec(stdout)?.[1]);
    expect(took).toBeLessThan(state.endsWith('limit') ? 1000 : 2000);
    expect(exitCode).toBe(0);
  });
});

describe('a leader whose main thread is in a busy loop', () => {
  const run = (blockMs: number, watchdog: 'on' | 'off') =>
    execaNode(
      fixture('blocking-leader.mjs'),
      [connectString(), uniquePath('watchdog'), '600', String(blockMs), watchdog],
      { timeout: 20_000, reject: false },
    );

  it.each([
    ['when the loop ends within the lease', 100, 'on', 'goes on, held: true'],
    [
      'without the watchdog',
      1000,
      'off',
      'goes on, held: false\nthe work of term 1 was still running when its lease ended',
    ],
  ] as const)('goes on %s, and ends by itself in the end', async (_, blockMs, watchdog, rest) => {
    const { stdout, exitCode } = await run(blockMs, watchdog);
    expect(stdout).toBe(`blocks\n${rest}`);
    expect(exitCode).toBe(0);
  });
});

describe('the watchdog of a leader whose main thread is in a busy loop', () => {
  /** Runs it with this standard error, and calls `onBlocked` when the loop begins. */
  const blockedWith = async (stderr: number, onBlocked = () => Promise.resolve()) => {
    const words = [
      fixture('blocking-leader.mjs'),
      connectString(),
      uniquePath('watchdog'),
      '600',
      '10000',
      'on',
    ];
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', stderr] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const stdout = child.stdout as Readable;
    let said = '';
    stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const closed = nextEvent<[number | null, string | null]>(child, 'close');
    await nextEvent(stdout, 'data');
    await onBlocked();
    const [, signal] = await closed;
    return { signal, said };
  };

  it('says why also in a file', async () => {
    const file = join(temporaryFolder(), 'log');
    const { signal, said } = await blockedWith(openSync(file, 'w'));
    expect({ signal, said }).toEqual({ signal: 'SIGKILL', said: 'blocks\n' });
    expect(readFileSync(file, 'utf8')).toContain('blocked past the end of its lease');
  });

  it.each(Object.keys(BROKEN_OUTPUTS) as BrokenOutputName[])(
    'kills it also when its standard error is %s (the leader went on)',
    async (name) => {
      const { descriptor, lose } = await BROKEN_OUTPUTS[name]();
      const { signal, said } = await blockedWith(descriptor, lose);
      expect({ signal, said }).toEqual({ signal: 'SIGKILL', said: 'blocks\n' });
    },
  );

  it.each([
    ['an --import that throws', ['--import', preload('throw new Error("only for the main thread")')], {}],
    ['an --import that exits', ['--import', preload('process.exit(0)')], {}],
    ['a NODE_OPTIONS that throws', [], { NODE_OPTIONS: `--import ${preload('throw 1')}` }],
  ] as const)(
    'runs nothing of the application in its thread: %s (it ended the watchdog)',
    async (_, nodeOptions, env) => {
      const { stdout, signal } = await execaNode(
        fixture('blocking-leader.mjs'),
        [connectString(), uniquePath('watchdog'), '600', '5000', 'on'],
        { timeout: 20_000, reject: false, nodeOptions, env },
      );
      expect(stdout).toBe('blocks');
      expect(signal).toBe('SIGKILL');
    },
  );

  it('is reported as gone, by an error of that name, when its thread ends; the term goes on', async () => {
    const { stdout } = await execaNode(fixture('ended-watchdog.mjs'), [
      connectString(),
      uniquePath('watchdog'),
    ]);
    expect(stdout).toMatch(
      /^WATCHDOG_FAILED .*past a lease: the thread exited with code \d\nthreads: 1, held: true$/,
    );
  });

  it('is reported in the same way when the process may start no thread (start() threw)', async () => {
    const { stdout } = await execaNode(
      fixture('ended-watchdog.mjs'),
      [connectString(), uniquePath('watchdog')],
      {
        nodeOptions: ['--disable-warning=ExperimentalWarning', PERMISSION_MODEL, '--allow-fs-read=*'],
        reject: false,
      },
    );
    expect(stdout).toMatch(
      /^WATCHDOG_FAILED .*lease: Access to this API has been restricted.*\nthreads: 0, held: true$/s,
    );
  });
});

it("a process whose leader's work outlasts the lease ends with code 70 when onOverrun is 'exit', and says why", async () => {
  const { stdout, exitCode } = await execaNode(
    fixture('overrunning-leader.mjs'),
    [connectString(), uniquePath('overrun')],
    {
      timeout: 30_000,
      reject: false,
    },
  );
  expect(stdout).toBe('WORK_OVERRUN');
  expect(exitCode).toBe(70);
});

describe('logging', () => {
  const run = async (environment: Record<string, string | undefined>, ...level: string[]) => {
    const { stdout, stderr } = await execaNode(fixture('session-logger.mjs'), [connectString(), ...level], {
      env: environment,
    });
    return [stdout, stderr].map((text) => text.split('\n').filter((line) => line !== '')) as [
      string[],
      string[],
    ];
  };

  it('leaves stdout to the application, also at a level that CONCLAVE_LOG_LEVEL says', async () => {
    expect((await run({ CONCLAVE_LOG_LEVEL: undefined }))[0]).toEqual([]);
    const [stdout, [line]] = await run({ CONCLAVE_LOG_LEVEL: 'warn' });
    expect(stdout).toEqual([]);
    expect(JSON.parse(line as string)).toMatchObject({ name: 'conclave', level: 40, askedMs: 10_000_000 });
  });

  it('goes to the logger that is given, at its level', async () => {
    const [[line]] = await run({}, 'warn');
    expect(JSON.parse(line as string)).toMatchObject({
      name: 'own',
      msg: 'the servers granted a different session timeout',
    });
    expect(await run({ CONCLAVE_LOG_LEVEL: 'trace' }, 'error')).toEqual([[], []]);
  });
});

it('after everything has stopped there are no contenders and no watches, though the sessions are still open', async () => {
  const zookeeper = endsWithTest(await startZooKeeper());
  const port = zookeeper.servers[0]?.port as number;
  const sessions = await Promise.all(
    Array.from({ length: 4 }, () => openSession({}, zookeeper.connectString)),
  );
  const electors = sessions.map((session) => new LeaderElector(session, '/election'));
  for (const elector of electors) await elector.start();
  await until(() => electors.some(({ term }) => term !== undefined));
  await electors.find(({ term }) => term !== undefined)?.resign();
  await until(() => electors.some(({ term }) => term !== undefined));
  const locks = sessions.map((session) => new DistributedLock(session, '/lock'));
  const hold = await locks[0]?.acquire();
  await Promise.all(locks.map((lock) => lock.acquire({ timeoutMs: 50 }).catch(() => undefined)));
  await hold?.release();
  expect(await fourLetterWord(port, 'wchs')).not.toMatch(/Total watches:0\s/);
  await Promise.all(electors.map((elector) => elector.stop()));
  expect(await sessions[0]?.getChildren('/election')).toEqual([]);
  expect(await sessions[0]?.getChildren('/lock')).toEqual([]);
  expect(await fourLetterWord(port, 'wchs')).toMatch(/watching 0 paths\s+Total watches:0\s/);
});

it('the shared server of the tests is a real ZooKeeper, unless the embedded one was asked for', async () => {
  const version = await fourLetterWord(inject('port') as number, 'srvr');
  expect(version).toMatch(/^Zookeeper version: 3\./);
  expect(version.includes('conclave-embedded')).toBe(prefersEmbedded());
});
