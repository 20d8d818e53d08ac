import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import type { Term } from '../../src/election/term/term.js';
import { ShardSupervisor } from '../../src/shards/supervisor/shard-supervisor.js';
import {
  ActivityLog,
  isAlive,
  PROGRAM,
  RunningCommand,
  type RunningCommandOptions,
  STUBBORN,
} from '../support/conclave/running-command.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/waiting.mjs';

const FIXTURE = join(import.meta.dirname, '../fixtures/guarded-program.mjs');
const NOWHERE = '127.0.0.1:1';
const HOUR_MS = 3_600_000;

interface Guard extends RunningCommandOptions {
  readonly options?: readonly string[];
}

/** Starts `conclave guard`. */
function guard(
  program: readonly string[],
  { options = [], env = {}, stdin = 'pipe', ...rest }: Guard = {},
): RunningCommand {
  const all = { SERVERS: connectString(), ...env };
  return new RunningCommand(['guard', ...options, '--', ...program], { ...rest, stdin, env: all });
}

const script = (text: string) => ['sh', '-c', text];
const program = (takesPartIn: object) => [process.execPath, FIXTURE, JSON.stringify(takesPartIn)];
const printed = (runner: RunningCommand, text: string) =>
  until(() => runner.stdout.includes(text), `'${text}' in ${runner.stdout} ${runner.stderr}`);
const said = (runner: RunningCommand, text: string) =>
  until(() => runner.stderr.includes(text), `'${text}' in ${runner.stderr}`);
const pidOf = ({ stdout }: RunningCommand) => Number(/^pid (\d+)$/m.exec(stdout)?.[1]);
const kill = (runner: RunningCommand) => process.kill(pidOf(runner), 'SIGKILL');

/** Starts the next candidate, in this process. It is elected within an hour only if the term before was given back. */
async function nextInLine(path: string, ...how: Parameters<typeof openSession>): Promise<LeaderElector> {
  const elector = new LeaderElector(await openSession(...how), path, { takeoverDelayMs: HOUR_MS });
  onTestFinished(() => elector.stop());
  await eventAfter(elector, 'waiting', () => elector.start());
  return elector;
}

/** Calls `end` when a candidate follows the leader that is guarded. Resolves when that candidate leads the next term. */
async function successorAfter(
  runner: RunningCommand,
  path: string,
  end: () => unknown,
  ...how: Parameters<typeof openSession>
): Promise<void> {
  await printed(runner, `reported leads ${path}`);
  const [term] = await eventAfter<[Term]>(await nextInLine(path, ...how), 'elected', end);
  expect(term.number).toBe(2);
}

/** Kills a program whose main thread stands still. */
async function killBlocked(runner: RunningCommand): Promise<void> {
  runner.process.stdin?.write('block\n');
  await printed(runner, 'blocks\n');
  kill(runner);
}

/** A folder for PATH with nothing but these programs of /bin. */
function folderWith(...names: string[]): string {
  const folder = temporaryFolder();
  for (const name of names) symlinkSync(`/bin/${name}`, join(folder, name));
  return folder;
}

describe('conclave guard', () => {
  it('runs a program as it was given, with its environment, folder, input and output, and ends with its exit code', async () => {
    const words = ['a b', '$HOME', '*', '', '--restart', '--', 'ü', "'"];
    const show = `
      const { CONCLAVE_AUTH, ZOOKEEPER } = process.env;
      const [input] = [require('node:fs').readFileSync(0, 'utf8')];
      console.error('oops');
      console.log(JSON.stringify({ words: process.argv.slice(1), CONCLAVE_AUTH, ZOOKEEPER, input, cwd: process.cwd() }));
      process.exitCode = 3;`;
    const env = { CONCLAVE_AUTH: 'digest:ada:secret' };
    const runner = guard([process.execPath, '--eval', show, '--', ...words], { env });
    runner.process.stdin?.end('from outside');
    expect(await runner.exit()).toBe(3);
    expect(JSON.parse(runner.stdout)).toEqual({
      words,
      ...env,
      ZOOKEEPER: connectString(),
      input: 'from outside',
      cwd: process.cwd(),
    });
    expect(runner.stderr).toBe('oops\n');
  });

  it('takes for itself none of the options behind the program, though no -- comes before it', async () => {
    const show = 'console.log(JSON.stringify(process.argv.slice(1))); process.exitCode = 3';
    const words = ['--eval', show, 'one', '--restart', '--key', 'file', '--', '-c', 'two'];
    const env = { ZOOKEEPER: connectString(), CONCLAVE_LOG_LEVEL: 'silent' };
    const { stdout, exitCode } = await execa(
      process.execPath,
      [PROGRAM, 'guard', process.execPath, ...words],
      { env, reject: false },
    );
    expect(JSON.parse(stdout)).toEqual(words.slice(2));
    expect(exitCode).toBe(3); // It would be started again and again by --restart.
  });

  it.each<[string, string, (runner: RunningCommand) => unknown, number]>([
    ['killed', '', kill, 137],
    ['crashes', '', (runner) => runner.process.stdin?.write('throw\n'), 1],
    [
      'is killed while its main thread stands still and another one sends its heartbeats',
      '',
      killBlocked,
      137,
    ],
    ['replaced a shell and is killed', 'exec ', kill, 137],
  ])('frees what a program led that %s', async (_, prefix, end, code) => {
    const path = uniquePath('guard');
    const words = program({ elections: [path], maxStallMs: HOUR_MS });
    const runner = guard(prefix === '' ? words : ['sh', '-c', `${prefix}"$@"`, 'sh', ...words]);
    await successorAfter(runner, path, () => end(runner));
    expect(await runner.exit()).toBe(code);
  });

  it('frees what a program led with credentials, which both have from the environment', async () => {
    const path = uniquePath('guard');
    const env = { CONCLAVE_AUTH: 'digest:ada:secret' };
    const auth = { scheme: 'digest', credentials: 'ada:secret' };
    const runner = guard(program({ elections: [path] }), { env });
    await successorAfter(runner, path, () => kill(runner), { auth });
  });

  it('frees what a program led at servers that require SASL, and does not pass its own password on to the program', async () => {
    const sasl = { username: 'worker', password: 'worker-secret' };
    const saslUsers = { worker: sasl.password };
    const server = await startEmbedded({ saslUsers, requireAuth: ['sasl'] });
    const { connectString: connect } = server;
    const path = uniquePath('guard');
    const env = { SERVERS: connect, CONCLAVE_SASL: 'worker:worker-secret' };
    const runner = guard(program({ elections: [path], sasl }), { connect, env });
    await successorAfter(runner, path, () => kill(runner), { sasl }, connect);
    expect(await runner.exit()).toBe(137);
    expect(runner.stdout).toContain('CONCLAVE_SASL undefined\n');
    expect(runner.stderr).toBe('');
  });

  it('frees all that a program led, and its shards', async () => {
    const [one, other, group] = [uniquePath('guard'), uniquePath('guard'), uniquePath('guard')];
    const runner = guard(program({ elections: [one, other], group }));
    for (const each of [`leads ${one}`, `leads ${other}`, `belongs ${group}`])
      await printed(runner, `reported ${each}`);
    const next = [await nextInLine(one), await nextInLine(other)];
    const elected = next.map((elector) => nextEvent(elector, 'elected'));
    const run = () => new Promise(() => undefined);
    const session = { sessionTimeoutMs: 30_000 };
    const member = new ShardSupervisor({ connect: connectString(), path: group, shards: 4, session, run });
    onTestFinished(() => member.stop({ timeoutMs: 1000 }).catch(() => undefined));
    await member.start();
    kill(runner);
    await Promise.all(elected);
    await until(() => member.owned.size === 4, 'all shards'); // The lease of its former owner is 10 s.
    expect(await runner.exit()).toBe(137);
    expect(runner.stderr).toBe('');
  });

  it('lets a program guard workers of its own', async () => {
    const path = uniquePath('guard');
    const runner = guard(program({ workers: path }));
    const leader = () => /^worker (\d+) leading$/m.exec(runner.stdout)?.[1];
    await until(() => leader() !== undefined && runner.stdout.includes(' waiting'), 'a leader and the next');
    const first = Number(leader());
    process.kill(first, 'SIGKILL');
    await until(() => (runner.stdout.match(/ leading$/gm)?.length ?? 0) === 2, 'the next leader');
    expect(await runner.end('SIGTERM')).toBe(0);
    expect(runner.stderr).toBe('');
  });

  it('ends with a program that shuts down in good order at SIGTERM', async () => {
    const path = uniquePath('guard');
    const runner = guard(program({ elections: [path] }));
    await successorAfter(runner, path, () => runner.signal('SIGTERM'));
    expect(await runner.exit()).toBe(0);
    expect(runner.stderr).toBe('');
  });

  it('lets a program run while no server can be reached', async () => {
    const runner = guard(script('read line; exit 5'), { connect: NOWHERE });
    runner.process.stdin?.end('go on\n');
    expect(await runner.exit()).toBe(5);
    expect(runner.stderr).toBe('');
  });

  it('ends when the time for the clean-up is over, and says so', async () => {
    const path = uniquePath('guard');
    const options = ['--connect', NOWHERE, '--connect-timeout', '300ms'];
    const runner = guard(program({ elections: [path] }), { options });
    await printed(runner, `reported leads ${path}`);
    kill(runner);
    expect(await runner.exit()).toBe(137);
    expect(runner.stderr).toMatch(/^conclave: the clean-up has not ended within 300 ms: /m);
  });

  it('goes on with the clean-up at a signal, as of a service manager that stops what has crashed', async () => {
    const path = uniquePath('guard');
    const proxy = await startProxy();
    proxy.cut();
    const runner = guard(program({ elections: [path] }), { options: ['--connect', proxy.connectString] });
    await successorAfter(runner, path, async () => {
      kill(runner);
      await until(() => !isAlive(pidOf(runner)), 'the end of the program');
      runner.signal('SIGTERM');
      proxy.restore();
    });
    expect(await runner.exit()).toBe(137);
  });

  it('says that a program behind a wrapper is not guarded', async () => {
    const words = program({ elections: [uniquePath('guard')] });
    const runner = guard(['sh', '-c', '"$@"; exit 6', 'sh', ...words]);
    await said(runner, 'passes on the messages of process');
    kill(runner);
    expect(await runner.exit()).toBe(6);
    expect(runner.stderr).toMatch(/^conclave: the process \d+ passes on .* isn't guarded: /m);
  });

  it('ends with a program whose reader has closed the pipe', async () => {
    const shell = `{ "$0" "$1" guard -- yes; echo $? >&2; } | head -1`;
    const env = { ZOOKEEPER: NOWHERE };
    const { stdout, stderr } = await execa('sh', ['-c', shell, process.execPath, PROGRAM], { env });
    expect({ stdout, stderr }).toEqual({ stdout: 'y', stderr: '141' });
  });

  it('says in its help how to use it, and has no option that it has no use for', async () => {
    const help = new RunningCommand(['help', 'guard']);
    expect(await help.exit()).toBe(0);
    for (const part of [
      'Usage: conclave guard [options] -- <program> [args...]',
      '--connect',
      '--auth',
      '--restart',
      'Start Node itself',
      'conclave guard -c zk1:2181,zk2:2181 -- node server.js',
      ...[64, 69, 71, 126, 127].map((code) => `\n  ${code} `),
    ])
      expect(help.stdout).toContain(part);
    expect(help.stdout).not.toContain('--session-timeout');
  });

  it('raised the limit of open files of its program, as Node does with its own', async () => {
    const line = `ulimit -Sn 512; "$0" "$@"; exit`;
    const words = [process.execPath, PROGRAM, 'guard', '--', 'sh', '-c', 'ulimit -Sn'];
    const env = { ZOOKEEPER: NOWHERE };
    expect((await execa('sh', ['-c', line, ...words], { env })).stdout).toBe('512');
  });

  it('does not wait for what a program leaves behind', async () => {
    const runner = guard(script('sleep 60 & echo $!; exit 4'));
    const ended = once(runner.process, 'exit');
    await printed(runner, '\n');
    onTestFinished(() => void process.kill(Number(runner.stdout), 'SIGKILL'));
    expect((await ended)[0]).toBe(4);
  });
});

describe('the signals to conclave guard', () => {
  it('go to the program, and to nothing that it has started', async () => {
    const inner = 'trap "echo inner" HUP USR1 USR2; echo ready; while :; do sleep 0.05; done';
    const traps = 'for s in HUP USR1 USR2; do trap "echo got $s" $s; done; trap "kill $!; exit 7" TERM';
    const runner = guard(script(`sh -c '${inner}' & ${traps}; while :; do sleep 0.05; done`));
    await printed(runner, 'ready');
    for (const name of ['HUP', 'USR1', 'USR2'] as const) {
      runner.signal(`SIG${name}`);
      await printed(runner, `got ${name}`);
    }
    expect(await runner.end('SIGTERM')).toBe(7);
    expect(runner.stdout).not.toContain('inner');
  });

  it.each<[NodeJS.Signals, number]>([
    ['SIGINT', 130],
    ['SIGQUIT', 131],
  ])('go to all processes of the program if a terminal sends them so: %s', async (name, code) => {
    const inner = `console.log('ready'); setInterval(() => undefined, 1000);`;
    const outer = `require('node:child_process').spawnSync(process.execPath, ['--eval', ${JSON.stringify(inner)}], { stdio: 'inherit' })`;
    const runner = guard([process.execPath, '--eval', outer]);
    await printed(runner, 'ready');
    expect(await runner.end(name)).toBe(code); // All processes that share its output have ended.
  });

  it('come once from a terminal: Ctrl+C', async () => {
    const count = `
      let count = 0;
      process.on('SIGINT', () => console.log('SIGINT ' + ++count));
      process.on('SIGUSR2', () => process.exit(count));
      setInterval(() => undefined, 1000);
      console.log('guard ' + process.ppid);`;
    const words = [process.execPath, PROGRAM, 'guard', '--', process.execPath, '--eval', count];
    const line = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
    const env = { ...process.env, ZOOKEEPER: NOWHERE };
    const child = spawn('script', ['-qec', `exec ${line}`, '/dev/null'], { env });
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    const exited = once(child, 'exit');
    await until(() => /guard \d+/.test(output), 'the program');
    child.stdin.write('\u0003');
    await until(() => output.includes('SIGINT 1'), 'the signal');
    // It passes signals on in their order, so another SIGINT would come before this one.
    process.kill(Number(/guard (\d+)/.exec(output)?.[1]), 'SIGUSR2');
    expect((await exited)[0]).toBe(1);
  });

  it('stop the program with it, and let both go on: SIGTSTP and SIGCONT', async () => {
    const waits = `
      process.on('SIGCONT', () => console.log('goes on'));
      setInterval(() => undefined, 1000);
      console.log('pid ' + process.pid);`;
    const runner = guard([process.execPath, '--eval', waits]);
    await printed(runner, '\n');
    const isStopped = (pid: number) => / T /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
    runner.signal('SIGTSTP');
    await until(() => [runner.pid, pidOf(runner)].every(isStopped), 'both are stopped');
    runner.signal('SIGCONT');
    await printed(runner, 'goes on');
    expect(isStopped(runner.pid)).toBe(false);
    expect(await runner.end('SIGTERM')).toBe(143);
  });

  it('that kill it end the program by SIGTERM', async () => {
    const runner = guard(script('trap "echo told; exit" TERM; echo ready; while :; do sleep 0.05; done'));
    await printed(runner, 'ready');
    expect(await runner.end('SIGKILL')).toBe('SIGKILL');
    expect(runner.stdout).toBe('ready\ntold\n');
  });

  it('that kill it let the program live on where there is no setpriv', async () => {
    const env = { PATH: folderWith('sh') };
    const runner = guard(script('trap "echo told" TERM; echo ready; read line; echo lives on'), { env });
    await printed(runner, 'ready');
    await eventAfter(runner.process, 'exit', () => runner.signal('SIGKILL'));
    runner.process.stdin?.end('go on\n');
    await runner.exit();
    expect(runner.stdout).toBe('ready\nlives on\n');
  });
});

describe('conclave guard below conclave run', () => {
  it('left its program running beside the next leader’s, out of reach of the keeper', async () => {
    const log = new ActivityLog();
    const guarded = [PROGRAM, 'guard', '--', process.execPath, STUBBORN, log.file];
    const words = ['run', uniquePath('guard'), '--grace', '100ms', '--', process.execPath, ...guarded];
    const runner = new RunningCommand(words);
    await until(() => log.newest().length > 0, 'the program');
    const exited = once(runner.process, 'exit');
    runner.signal('SIGTERM');
    expect((await exited)[0]).toBe(137);
    expect(log.newest().filter(({ pid }) => isAlive(pid))).toEqual([]);
  });
});

describe('conclave guard --restart', () => {
  const options = ['--restart'];

  it('starts a program again that has failed, until it exits with 0', async () => {
    const runner = guard(script('echo run; read word || exit 0; [ $word = kill ] && kill -9 $$; exit 3'), {
      options,
    });
    for (const [index, word] of ['fail', 'kill'].entries()) {
      await until(() => runner.stdout === 'run\n'.repeat(index + 1), 'a run');
      runner.process.stdin?.write(`${word}\n`);
    }
    runner.process.stdin?.end();
    expect(await runner.exit()).toBe(0);
    expect(runner.stdout).toBe('run\n'.repeat(3));
    const pauses = [
      /^conclave: the program ended with code 3: it is started again in \d+ms$/m,
      /^conclave: the program ended by SIGKILL: it is started again in \d+ms$/m,
    ];
    for (const pause of pauses) expect(runner.stderr).toMatch(pause);
  });

  it('frees what the program led each time', async () => {
    const path = uniquePath('guard');
    const runner = guard(program({ elections: [path] }), { options });
    await successorAfter(runner, path, () => kill(runner));
    await printed(runner, `reported waits ${path}`); // The program that was started again.
    expect(await runner.end('SIGTERM')).toBe(0);
  });

  it.each<[NodeJS.Signals, number]>([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ])('does not start a program again that %s has ended', async (name, code) => {
    const waits = "console.log('ready'); setInterval(() => undefined, 1000)";
    const runner = guard([process.execPath, '--eval', waits], { options });
    await printed(runner, 'ready');
    expect(await runner.end(name)).toBe(code);
    expect({ stdout: runner.stdout, stderr: runner.stderr }).toEqual({ stdout: 'ready\n', stderr: '' });
  });

  it('ends with a program that fails after SIGTERM, with its code', async () => {
    const runner = guard(script('trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done'), { options });
    await printed(runner, 'ready');
    expect(await runner.end('SIGTERM')).toBe(9);
  });

  it('ends at a signal between two runs', async () => {
    const runner = guard(script('read line && exit 1; exec sleep 60'), { options });
    runner.process.stdin?.end('once\n');
    await said(runner, 'started again');
    runner.signal('SIGTERM'); // On a machine that is slow, it ends the second run: with the same exit code.
    expect(await runner.exit()).toBe(143);
  });
});

describe('conclave guard refuses', () => {
  it.each<[string, readonly string[], Guard, number, RegExp]>([
    ['no program', [], {}, 64, /missing required argument 'program'/],
    [
      'no servers',
      ['true'],
      { connect: '' },
      64,
      /which servers\? Give --connect host:port, or set ZOOKEEPER/,
    ],
    ['servers that are none', ['true'], { connect: 'a b' }, 64, /^conclave: connect is "a b"/],
    ['credentials that are none', ['true'], { options: ['--auth', 'x'] }, 64, /expected scheme:credentials/],
    [
      'an option that it has no use for',
      ['true'],
      { options: ['--session-timeout', '6s'] },
      64,
      /unknown option/,
    ],
    ['a program that is none', [import.meta.dirname], {}, 127, /^conclave: there is no command /],
    ['a program that can’t be executed', [FIXTURE], {}, 126, /can't be executed/],
  ])('%s, before it starts anything', async (_, words, how, code, message) => {
    const runner = guard(words, how);
    expect(await runner.exit()).toBe(code);
    expect(runner.stderr).toMatch(message);
    expect(runner.stdout).toBe('');
  });
});
