import { fork } from 'node:child_process';
import { once } from 'node:events';
import { constants, cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { execa } from 'execa';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSessionOf } from '../../src/cluster/dead-children/guarded-process.js';
import { SessionGuardian } from '../../src/cluster/dead-children/session-guardian.js';
import { readProcess } from '../../src/cluster/run-command/command-processes.js';
import { serializeRecord } from '../../src/election/record/election-record.js';
import { revokeLeader } from '../../src/election/revoke-leader.js';
import { campaign, candidateNodes, DEAD } from '../support/conclave/electors.js';
import {
  ActivityLog,
  isAlive,
  machineNowMs,
  PROGRAM,
  RunningCommand,
  type RunningCommandOptions,
  STUBBORN,
} from '../support/conclave/running-command.js';
import { connectString, openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/waiting.mjs';

// So long that no command loses its lease, unless the test is about that.
const SESSION_TIMEOUT_MS = 9000;
const SHORT_SESSION_MS = 3000;

interface Run extends RunningCommandOptions {
  readonly path?: string;
  readonly options?: readonly string[];
}

/** Starts `conclave run`, in an election of its own unless one is given. */
function run(
  command: readonly string[],
  { path = uniquePath('run'), options = [], ...rest }: Run = {},
): RunningCommand {
  const words = ['run', path, '--session-timeout', String(SESSION_TIMEOUT_MS), ...options, '--', ...command];
  return new RunningCommand(words, rest);
}

/** The built command, without the keeper’s program: Node can’t find it, as in an archive of Yarn’s Plug’n’Play. */
function copyWithoutKeeper(): string {
  const folder = temporaryFolder();
  const root = join(import.meta.dirname, '../..');
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  rmSync(join(folder, 'dist/cluster/run-command/keeper.js'));
  return join(folder, relative(root, PROGRAM));
}

/** A shell script as a command. `run` itself starts no shell. */
const script = (text: string) => ['sh', '-c', text];
/** A command that prints its process id, and ends at any signal. */
const SLEEPING = script('echo $$; exec sleep 60');
const printed = (runner: RunningCommand, text: string) =>
  until(() => runner.stdout.includes(text), `'${text}'`);
const waits = (runner: RunningCommand) =>
  until(() => runner.stderr.includes('waiting'), 'a place in the queue');

/** Starts `conclave run`, and waits until its command has printed a line. */
async function runUntilPrinted(command: readonly string[], given: Run = {}): Promise<RunningCommand> {
  const runner = run(command, given);
  await printed(runner, '\n');
  return runner;
}

/** Starts `conclave run` behind a leader, and waits until it has a place in the queue. */
async function runBehindLeader(command: readonly string[], { options = [], ...rest }: Run = {}) {
  const path = uniquePath('run');
  const leader = await campaign(await openSession(), path);
  const runner = run(command, { path, options: ['-v', ...options], ...rest });
  await waits(runner);
  return { path, leader, runner };
}

async function queue(path: string): Promise<string[]> {
  return await candidateNodes(await openSession(), path).catch(() => []);
}

describe('conclave run', () => {
  it('runs a command as it was given, without a shell, and ends with its exit code', async () => {
    const words = ['a b', '$HOME', '*', '', '--restart', '--', 'ü', "'"];
    const program = 'console.log(JSON.stringify(process.argv.slice(1))); process.exitCode = 3';
    const runner = run([process.execPath, '--eval', program, '--', ...words]);
    expect(await runner.exit()).toBe(3);
    expect(JSON.parse(runner.stdout)).toEqual(words);
    expect(runner.stderr).toBe('');
  });

  it('refuses arguments that aren’t UTF-8, and names the variables that aren’t, as the command would get them changed', async () => {
    const start = `"${process.execPath}" "${PROGRAM}" run ${uniquePath('run')} -- echo`;
    const shell = async (text: string) => {
      const env = { ZOOKEEPER: connectString() };
      const { stdout, stderr, exitCode } = await execa('sh', ['-c', text], { env, reject: false });
      return { stdout, stderr, exitCode };
    };
    expect(await shell(`exec ${start} ü "$(printf 'caf\\351')"`)).toEqual({
      exitCode: 64,
      stdout: '',
      stderr: expect.stringMatching(/^conclave: argument 6 of the command line isn't UTF-8/),
    });
    expect(await shell(`CITY="$(printf 'caf\\351')" exec ${start} ü \uFFFD`)).toEqual({
      exitCode: 0,
      stdout: 'ü \uFFFD',
      stderr: "conclave: the command gets a changed value of the variable CITY: its value isn't UTF-8",
    });
  });

  it('gives the command its own standard input, output and error', async () => {
    const runner = run(script('cat; echo oops >&2'), { stdin: 'pipe' });
    runner.process.stdin?.end('from outside');
    expect(await runner.exit()).toBe(0);
    expect(runner).toMatchObject({ stdout: 'from outside', stderr: 'oops\n' });
  });

  it('gives the command the election, its id, its term and its token in the environment', async () => {
    const path = uniquePath('run');
    const show = script('echo $CONCLAVE_ELECTION $CONCLAVE_ID $CONCLAVE_TERM $CONCLAVE_TOKEN $OWN');
    const tokens: bigint[] = [];
    for (const term of [1, 2]) {
      const runner = run(show, { path, options: ['--id', 'me'], env: { OWN: 'mine' } });
      expect(await runner.exit()).toBe(0);
      const [election, id, number, token = '', own] = runner.stdout.trim().split(' ');
      expect({ election, id, number, own }).toEqual({
        election: path,
        id: 'me',
        number: String(term),
        own: 'mine',
      });
      tokens.push(BigInt(token));
    }
    expect(tokens[1]).toBeGreaterThan(tokens[0] as bigint);
  });

  it('waits until it is its turn, and shows itself to the others meanwhile', async () => {
    const { session, path } = await openWithPath('run');
    const leader = await campaign(session, path);
    const runner = run(script('echo runs'), { path, options: ['--id', 'next', '--data', 'here', '-v'] });
    await until(() => runner.stderr.includes('waiting, with 1 ahead'), 'a place in the queue');
    expect((await leader.candidates())[1]).toMatchObject({ id: 'next', data: 'here' });
    expect(runner.stdout).toBe('');
    await leader.stop();
    expect(await runner.exit()).toBe(0);
    expect(runner.stdout).toBe('runs\n');
    expect(await queue(path)).toEqual([]);
  });

  it('ends what the command leaves behind in its group before it gives leadership back', async () => {
    const path = uniquePath('run');
    const options = ['--grace', '1s'];
    const runner = await runUntilPrinted(script('trap "" TERM; sleep 60 & echo $!; exit 3'), {
      path,
      options,
    });
    const left = Number(runner.stdout);
    expect(isAlive(left)).toBe(true);
    await until(async () => (await queue(path)).length === 0, 'the end of its term');
    expect(isAlive(left)).toBe(false);
    expect(await runner.exit()).toBe(3);
  });

  it('ends what has made process groups of its own, as timeout does and a shell with job control', async () => {
    const runner = await runUntilPrinted(script('timeout 60 sh -c "echo \\$\\$; sleep 50; :"; echo after'));
    const inner = Number(runner.stdout);
    expect(readProcess(inner)?.group).not.toBe(readProcess(inner)?.session);
    runner.signal('SIGTERM');
    expect(await runner.exit()).toBe(143);
    expect(isAlive(inner)).toBe(false);
    expect(runner.stdout).toBe(`${inner}\n`);
  });

  it('leaves the pipes that it shares with the command as programs expect them: blocking', async () => {
    const path = uniquePath('run');
    const show = 'grep flags /proc/self/fdinfo/1 /proc/self/fdinfo/2';
    const trap = `trap '${show}; exit' TERM; echo ready; while :; do sleep 0.05; done`;
    const runner = await runUntilPrinted(script(trap), { path });
    await revokeLeader(await openSession(), path); // The runner reports it on standard error.
    expect(await runner.exit()).toBe(76);
    const flags = [...runner.stdout.matchAll(/flags:\s+(\d+)/g)].map(([, octal = '']) =>
      Number.parseInt(octal, 8),
    );
    expect(flags.map((bits) => bits & constants.O_NONBLOCK)).toEqual([0, 0]);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGQUIT'] as const)(
    'sends %s on to the whole group, and ends with it',
    async (name) => {
      const runner = await runUntilPrinted(script('sh -c "echo ready; exec sleep 60"; echo after'));
      runner.signal(name);
      expect(await runner.exit()).toBe({ SIGTERM: 143, SIGINT: 130, SIGQUIT: 131 }[name]);
      expect(runner.stdout).toBe('ready\n');
    },
  );

  it('kills the whole group when the grace is over', async () => {
    const log = new ActivityLog();
    const runner = run([process.execPath, STUBBORN, log.file], { options: ['--grace', '400ms'] });
    await until(() => log.newest().length > 0, 'a command that runs, and its child');
    const toldAt = machineNowMs();
    runner.signal('SIGTERM');
    expect(await runner.exit()).toBe(137);
    for (const pid of new Set(log.newest().map((act) => act.pid))) expect(isAlive(pid)).toBe(false);
    expect((log.newest().at(-1)?.atMs as number) - toldAt).toBeGreaterThan(350);
  });

  it('sends on what is for the command alone, and goes on', async () => {
    const traps = 'for s in HUP USR1 USR2 WINCH; do trap "echo got $s" $s; done';
    const runner = await runUntilPrinted(script(`${traps}; echo ready; while :; do sleep 0.05; done`));
    for (const name of ['HUP', 'USR1', 'USR2', 'WINCH'] as const) {
      runner.signal(`SIG${name}`);
      await printed(runner, `got ${name}`);
    }
    runner.signal('SIGTERM');
    expect(await runner.exit()).toBe(143);
  });

  it('can end a command that is stopped', async () => {
    const runner = await runUntilPrinted(script('echo $$; kill -STOP $$'));
    runner.signal('SIGTERM');
    expect(await runner.exit()).toBe(143);
  });

  it.each<[NodeJS.Signals, number]>([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
    ['SIGQUIT', 131],
  ])('leaves the queue at %s, and never starts the command', async (name, code) => {
    const { path, leader, runner } = await runBehindLeader(script('echo runs'));
    runner.signal('SIGUSR1'); // This signal is for the command, so the runner goes on.
    runner.signal(name);
    expect(await runner.exit()).toBe(code);
    expect(await queue(path)).toHaveLength(1);
    await leader.stop();
    expect(runner.stdout).toBe('');
  });

  it('starts no command at a signal between its election and the start', async () => {
    const path = uniquePath('run');
    const leader = await campaign(await openSession(), path);
    const start = async (): Promise<RunningCommand> => {
      const runner = run(script('echo runs'), { path, options: ['-v'] });
      await until(() => runner.keeperPid !== undefined, 'a keeper');
      const keeper = runner.keeperPid as number;
      process.kill(keeper, 'SIGSTOP');
      // A keeper gives itself another name before it is ready. This one was stopped too late if it has that name.
      if (readFileSync(`/proc/${keeper}/cmdline`, 'utf8').includes('keeper.js')) return runner;
      runner.signal('SIGTERM');
      process.kill(keeper, 'SIGCONT');
      await runner.exit();
      return start();
    };
    const runner = await start();
    await waits(runner);
    const keeper = runner.keeperPid as number;
    await leader.stop();
    await until(() => runner.stderr.includes('elected'), 'its election');
    runner.signal('SIGTERM');
    process.kill(keeper, 'SIGCONT');
    expect(await runner.exit()).toBe(143);
    expect(runner.stdout).toBe('');
  });

  it('starts no command if its keeper is so late that the lease is over', async () => {
    const options = ['--session-timeout', String(SHORT_SESSION_MS)];
    const { leader, runner } = await runBehindLeader(script('echo runs; sleep 60'), { options });
    const keeper = runner.keeperPid as number;
    // The keeper may have become ready, so the runner may send it the start.
    process.kill(keeper, 'SIGSTOP');
    await leader.stop();
    await until(() => runner.stderr.includes('elected'), 'its election');
    runner.signal('SIGSTOP');
    // Half a lease longer than a lease, because a heartbeat may have gone out just now, and timers may fire slightly early.
    await new Promise((resolve) => setTimeout(resolve, SHORT_SESSION_MS / 2));
    process.kill(keeper, 'SIGCONT');
    runner.signal('SIGCONT');
    expect(await runner.exit()).toBe(76);
    expect(runner.stdout).toBe('');
  });

  it('exits with 76 when leadership was lost, whatever the command exits with', async () => {
    const path = uniquePath('run');
    const trap = 'trap "exit 0" TERM; echo ready; while :; do sleep 0.05; done';
    const runner = await runUntilPrinted(script(trap), { path });
    await revokeLeader(await openSession(), path);
    expect(await runner.exit()).toBe(76);
    expect(runner.stderr).toContain(
      'conclave: leadership lost: it was asked to step down; ending the command\n',
    );
  });

  it('loses leadership with its node, and ends the command within the lease', async () => {
    const path = uniquePath('run');
    const runner = await runUntilPrinted(SLEEPING, { path });
    const session = await openSession();
    const [node] = await candidateNodes(session, path);
    await session.remove(`${path}/${node}`);
    expect(await runner.exit()).toBe(76);
    expect(isAlive(Number(runner.stdout))).toBe(false);
  });

  it('campaigns again with --restart, when the command has ended and when leadership was lost', async () => {
    const path = uniquePath('run');
    const runner = run(script('echo term $CONCLAVE_TERM; [ $CONCLAVE_TERM = 1 ] || exec sleep 60'), {
      path,
      options: ['--restart'],
    });
    await printed(runner, 'term 2');
    await revokeLeader(await openSession(), path);
    await printed(runner, 'term 3');
    runner.signal('SIGTERM');
    expect(await runner.exit()).toBe(143);
  });

  it('gives up when it is not elected in time, and at once with --no-wait, with exit code 75', async () => {
    const path = uniquePath('run');
    const leader = await campaign(await openSession(), path);
    const patient = run(script('echo runs'), { path, options: ['--wait-timeout', '300ms'] });
    const hasty = run(script('echo runs'), { path, options: ['--no-wait'] });
    expect([await patient.exit(), await hasty.exit()]).toEqual([75, 75]);
    expect([patient.stderr, hasty.stderr]).toEqual([
      'conclave: not elected in time\n',
      'conclave: not elected at once\n',
    ]);
    expect(await queue(path)).toHaveLength(1);
    await leader.stop();
    const first = run(script('echo runs'), { path, options: ['--no-wait', '--wait-timeout', '1m'] });
    expect(await first.exit()).toBe(64); // They exclude each other.
    expect(await run(script('echo runs'), { path, options: ['--no-wait'] }).exit()).toBe(0);
  });

  it('ends when its time to wait is over, also while its server hangs; its keeper then closes the session', async () => {
    const proxy = await startProxy();
    const { path, runner } = await runBehindLeader(script('echo runs'), {
      connect: proxy.connectString,
      options: ['--session-timeout', '30s', '--wait-timeout', '3s'],
    });
    const exited = once(runner.process, 'exit');
    const closed = once(runner.process, 'close');
    proxy.partition();
    await until(() => runner.stderr.includes('not elected in time'), 'the end of its time');
    const lateAt = performance.now();
    expect((await exited)[0]).toBe(75);
    expect(performance.now() - lateAt).toBeLessThan(5000); // Leaving takes a lease of 10 s.
    await closed; // Its caller reads to the end of its output, which the keeper mustn't hold open.
    expect(await queue(path)).toHaveLength(2);
    proxy.restore();
    await until(async () => (await queue(path)).length === 1, 'the end of its session');
  }, 30_000);

  it('exits with 69 when no server can be reached', async () => {
    const runner = run(['true'], { connect: '127.0.0.1:1', options: ['--connect-timeout', '300ms'] });
    expect(await runner.exit()).toBe(69);
    expect(runner.stderr).toMatch(
      /^conclave: no server accepted the session: connect ECONNREFUSED 127\.0\.0\.1:1;/,
    );
    expect(runner.stderr).toMatch(
      /\nconclave: no server of 127\.0\.0\.1:1 accepted the session within 300 ms\n$/,
    );
  });

  it('waits for servers that go away while it is in the queue', async () => {
    const proxy = await startProxy();
    const { path, leader, runner } = await runBehindLeader(script('echo runs'), {
      connect: proxy.connectString,
      options: ['--session-timeout', String(SHORT_SESSION_MS), '--connect-timeout', '2s'],
    });
    proxy.cut();
    await until(async () => (await queue(path)).length === 1, 'the end of its session');
    proxy.restore();
    await until(async () => (await queue(path)).length === 2, 'another place in the queue');
    await leader.stop();
    expect(await runner.exit()).toBe(0);
    expect(runner.stdout).toBe('runs\n');
  });

  it('refuses a command that can not be run before it joins the queue, with the exit codes of a shell', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'program');
    writeFileSync(file, '#!/nowhere\n');
    const path = uniquePath('run');
    expect(await run(['no-such-command'], { path }).exit()).toBe(127);
    expect(await run(['./no-such-command'], { path }).exit()).toBe(127);
    expect(await run([file], { path }).exit()).toBe(126);
    expect(await queue(path)).toEqual([]);
    expect(await run(['program'], { env: { PATH: folder } }).exit()).toBe(126);
  });

  it('goes on when its keeper is killed while it waits, and ends its command when it is killed then', async () => {
    const { leader, runner } = await runBehindLeader(SLEEPING);
    process.kill(runner.keeperPid as number, 'SIGKILL');
    await until(() => runner.keeperPid === undefined, 'its end');
    await leader.stop();
    await printed(runner, '\n');
    process.kill(runner.keeperPid as number, 'SIGKILL');
    expect(await runner.exit()).toBe(137);
    expect(isAlive(Number(runner.stdout))).toBe(false);
  });

  it('ends a command whose keeper is stopped', { timeout: 60_000 }, async () => {
    const runner = await runUntilPrinted(SLEEPING, { options: ['--grace', '100ms'] });
    process.kill(runner.keeperPid as number, 'SIGSTOP');
    runner.signal('SIGTERM');
    expect(await runner.exit()).toBe(137);
    expect(isAlive(Number(runner.stdout))).toBe(false);
  });

  it('ended a healthy command when its keeper had paused, before the keeper read what had come meanwhile', async () => {
    const options = ['--session-timeout', String(SHORT_SESSION_MS)];
    const runner = run(script('trap "exit 9" TERM; echo runs; while :; do sleep 0.05; done'), { options });
    await until(() => runner.stdout === 'runs\n', 'the command');
    const keeper = runner.keeperPid as number;
    process.kill(keeper, 'SIGSTOP');
    await new Promise((over) => setTimeout(over, SHORT_SESSION_MS)); // Longer than its lease.
    process.kill(keeper, 'SIGCONT');
    runner.signal('SIGTERM');
    expect(await runner.exit()).toBe(9);
    expect(runner.stderr).not.toContain('leadership lost');
  });

  it('left the command of another conclave run below it running when its own lease was over', async () => {
    const log = new ActivityLog();
    const stubborn = [process.execPath, STUBBORN, log.file];
    const inner = [process.execPath, PROGRAM, 'run', uniquePath('run'), '--grace', '1h', '--', ...stubborn];
    const runner = run(inner, { options: ['--grace', '100ms'] });
    await until(() => log.newest().length > 0, 'the command');
    runner.signal('SIGTERM');
    await until(() => !log.newest().some(({ pid }) => isAlive(pid)), 'the end of the command');
  });

  it('raised the limit of open files of its command, as Node does with its own', async () => {
    const line = `ulimit -Sn 512; "$0" "$@"; exit`;
    const words = [process.execPath, PROGRAM, 'run', uniquePath('run'), '--', 'sh', '-c', 'ulimit -Sn'];
    const env = { ZOOKEEPER: connectString() };
    expect((await execa('sh', ['-c', line, ...words], { env })).stdout).toBe('512');
  });

  it('leaves nothing behind when it is killed, running or waiting', async () => {
    const path = uniquePath('run');
    const runner = await runUntilPrinted(SLEEPING, { path });
    const waiting = run(script('echo runs'), { path, options: ['-v'] });
    await waits(waiting);
    const [first, second] = [runner.keeperPid as number, waiting.keeperPid as number];
    waiting.signal('SIGKILL');
    expect(await waiting.exit()).toBe('SIGKILL');
    runner.signal('SIGKILL');
    expect(await runner.exit()).toBe('SIGKILL');
    // The system closes a process's output a moment before the process is gone.
    await until(() => ![Number(runner.stdout), first, second].some(isAlive), 'the end of all');
  });

  it('leaves the command to the kernel when it is killed together with its keeper', async () => {
    const runner = await runUntilPrinted(SLEEPING);
    const keeper = runner.keeperPid as number;
    for (const signal of ['SIGSTOP', 'SIGKILL'] as const)
      for (const pid of [keeper, runner.pid]) process.kill(pid, signal);
    expect(await runner.exit()).toBe('SIGKILL');
    await until(() => !isAlive(Number(runner.stdout)), 'the end of the command');
  });

  it('is followed at once when it was killed: its keeper closes the session that was left behind', async () => {
    const path = uniquePath('run');
    const [lasting, auth] = [['--session-timeout', '60s'], { CONCLAVE_AUTH: 'digest:ada:secret' }];
    const first = await runUntilPrinted(SLEEPING, { path, options: lasting, env: auth });
    const behind = { path, options: [...lasting, '-v'], env: auth };
    const second = run(script('echo second'), behind);
    await waits(second);
    const third = run(script('echo third; exit $CONCLAVE_TERM'), behind);
    await until(() => third.stderr.includes('waiting, with 2'), 'a place in the queue');
    second.signal('SIGKILL'); // Kills only a waiting runner, whose node would be in the way.
    await second.exit();
    // Otherwise the first runner's term may be handed over to the dead one, which would cost a lease.
    await until(
      () => third.stderr.includes('waiting, with 1'),
      'the end of the session that was left behind',
    );
    first.signal('SIGKILL');
    await first.exit();
    expect(await third.exit()).toBe(2); // Well within the 60 s of a session, and the 20 s of a lease.
  });

  it('is followed at once also when the channel to its keeper closes before its process has ended', async () => {
    const [session, observer] = await Promise.all([openSession({ sessionTimeoutMs: 60_000 }), openSession()]);
    const node = uniquePath('left');
    await session.create(node, { mode: 'ephemeral' });
    const dying = fork(join(import.meta.dirname, '../fixtures/killed-keeper-parent.mjs'), {
      serialization: 'advanced',
    });
    dying.send({
      connect: connectString(),
      auth: undefined,
      tlsFiles: undefined,
      openSession: openSessionOf(session),
    });
    expect((await once(dying, 'exit'))[1]).toBe('SIGKILL');
    await until(async () => (await observer.exists(node)) === undefined, 'the end of its session');
  });

  it('registers with no guardian, which would give leadership back while the command still has its grace', async () => {
    const guardian = new SessionGuardian({ connect: connectString() });
    onTestFinished(() => guardian.close());
    const words = ['run', uniquePath('run'), '--', 'sh', '-c', 'echo runs; exec sleep 60'];
    const child = fork(PROGRAM, words, { env: { ...process.env, ZOOKEEPER: connectString() }, silent: true });
    onTestFinished(() => void child.kill('SIGKILL'));
    const messages: unknown[] = [];
    child.on('message', (message) => void messages.push(message));
    guardian.watch(child);
    await once(child.stdout as Readable, 'data');
    expect(messages).toEqual([]);
    expect(guardian.roleOf(child)).toBe('none');
  });

  it('ends at once at SIGTERM, also while its keeper is stopped', async () => {
    const { runner } = await runBehindLeader(['true']);
    const keeper = runner.keeperPid as number;
    process.kill(keeper, 'SIGSTOP');
    onTestFinished(() => void process.kill(keeper, 'SIGCONT')); // Also if the test fails, because the keeper would stay stopped.
    const exited = once(runner.process, 'exit');
    runner.signal('SIGTERM');
    expect((await exited)[0]).toBe(143);
  });

  it('ends with the code that the command chooses at SIGTERM, and its keeper ignores what a service manager sends to all processes', async () => {
    const trap = 'trap "sleep 0.3; echo cleaned; exit 4" TERM; echo ready; while :; do sleep 0.05; done';
    const runner = await runUntilPrinted(script(trap));
    const keeper = runner.keeperPid as number;
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(keeper, name);
    runner.signal('SIGTERM');
    expect(await runner.exit()).toBe(4);
    expect(runner.stdout).toContain('cleaned');
  });

  it('waits for the lease of a leader that is gone, with --takeover-delay 0 too', async () => {
    const { session, path } = await openWithPath('run');
    await session.create(path, { data: serializeRecord({ ...DEAD, leaseMs: 2000 }) });
    const options = ['--takeover-delay', '0', '--no-wait'];
    const began = performance.now();
    expect(await run(script('exit $CONCLAVE_TERM'), { path, options }).exit()).toBe(DEAD.term + 1);
    expect(performance.now() - began).toBeGreaterThan(2000 * 1.03 + 50);
  });

  it('needs no setpriv: without it, the runner alone kills the command of a keeper that was killed', async () => {
    const folder = temporaryFolder();
    symlinkSync('/bin/sh', join(folder, 'sh'));
    symlinkSync('/bin/sleep', join(folder, 'sleep'));
    const env = { PATH: folder };
    const runner = await runUntilPrinted(script('sleep 60 & echo $!; wait'), { env });
    process.kill(runner.keeperPid as number, 'SIGKILL');
    expect(await runner.exit()).toBe(137);
    expect(isAlive(Number(runner.stdout))).toBe(false);
    // The command kills its keeper, mostly before the keeper has reported the start.
    const ungrateful = run(script('kill -9 $PPID; echo $$; exec sleep 60'), { env });
    expect(await ungrateful.exit()).toBe(137);
    expect(isAlive(Number(ungrateful.stdout))).toBe(false);
  });

  it.each(['another process leads', 'it leads itself'])(
    'ends with 71 when its keeper can’t start, in place of standing for election again and again: %s',
    async (leads) => {
      const path = uniquePath('run');
      if (leads === 'another process leads') await campaign(await openSession(), path);
      const program = copyWithoutKeeper();
      const runner = run(['true'], { path, program, options: ['--restart', '-v'] });
      expect(await runner.exit()).toBe(71);
      expect(runner.stderr).toContain(
        "conclave: the keeper can't start: it ended by itself, with exit code 1; ",
      );
      expect(runner.stderr.match(/ elected for term /g)?.length ?? 0).toBeLessThanOrEqual(1);
      expect(await queue(path)).toHaveLength(leads === 'another process leads' ? 1 : 0);
    },
    20_000,
  );

  it('authenticates with credentials from the environment, and exits with 77 if the servers refuse', async () => {
    const path = uniquePath('run');
    const env = { CONCLAVE_AUTH: 'digest:ada:secret' };
    expect(await run(['true'], { path, env }).exit()).toBe(0);
    const [stranger, anonymous] = [
      run(['true'], { path, options: ['--auth', 'digest:eve:secret', '--auth', 'digest:mallory:secret'] }),
      run(['true'], { path }),
    ];
    expect([await stranger.exit(), await anonymous.exit()]).toEqual([77, 77]);
    const malformed = run(['true'], { options: ['--auth', 'secret'] });
    expect(await malformed.exit()).toBe(64);
    expect(malformed.stderr).toContain('--auth, or CONCLAVE_AUTH: expected scheme:credentials');
    expect(malformed.stderr).not.toContain('secret');
  });

  it('passes its own credentials on to neither the command’s nor the keeper’s environment', async () => {
    const server = await startEmbedded({ saslUsers: { ada: 'secret' } });
    const env = { CONCLAVE_AUTH: 'digest:ada:secret', CONCLAVE_SASL: 'ada:secret', OWN: 'mine' };
    const show = script('echo "$OWN, auth=$CONCLAVE_AUTH$CONCLAVE_SASL"; read line');
    const runner = await runUntilPrinted(show, { env, stdin: 'pipe', connect: server.connectString });
    expect(runner.stdout).toBe('mine, auth=\n');
    const ofKeeper = readFileSync(`/proc/${runner.keeperPid}/environ`, 'utf8').split('\0');
    expect(ofKeeper).toContain('OWN=mine');
    expect(ofKeeper.filter((variable) => /^CONCLAVE_(AUTH|SASL)/.test(variable))).toEqual([]);
    runner.process.stdin?.end();
    await runner.exit();
  });

  it('takes the servers from the environment unless an option names them', async () => {
    const options = ['--connect', connectString()];
    expect(await run(['true'], { connect: '127.0.0.1:1', options }).exit()).toBe(0);
  });
});
