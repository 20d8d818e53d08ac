import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { Semaphore } from '../../src/lock/semaphore.js';
import { conclave } from '../support/conclave/command-line.js';
import { campaign, lead } from '../support/conclave/electors.js';
import { PROGRAM, RunningCommand } from '../support/conclave/running-command.js';
import {
  connectString,
  openProxied,
  openSession,
  openWithPath,
  uniquePath,
} from '../support/conclave/sessions.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { until } from '../support/waiting.mjs';

const withoutTimes = (line: string) =>
  line
    .replace(/\d+(ms|s)\b(?= {2})/, 'T')
    .replace(/\d\.\ds of \d\.\ds/, 'L')
    .replace(/ {2,}/g, '  ');

/** Starts two elections. One of them has a leader. */
async function startTwo() {
  const { session, path: root } = await openWithPath('status');
  const [leader] = await lead(session, `${root}/b`, { id: 'one', data: 'here' });
  await campaign(await openSession(), `${root}/b`, { id: 'two' });
  const [gone] = await lead(session, `${root}/deep/a`, { id: 'three' });
  await gone.stop();
  return { root, session, leader };
}

describe('conclave status --root', () => {
  it('prints a table of all elections below it, with the lease of each leader; exits with 1 unless each is led', async () => {
    const { root } = await startTwo();
    const { exitCode, stdout, stderr } = await conclave('status', '--root', root);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
    expect(stdout.map(withoutTimes)).toEqual([
      'PATH  KIND  STATE  LEADER  TERM  SINCE  LEASE  CANDIDATES',
      `${root}/b  election  led  one  1  T  L  2`,
      `${root}/deep/a  election  deserted  -  -  -  -  0`,
    ]);
    expect((await conclave('status', '--root', `${root}/b`)).exitCode).toBe(0);
    expect(await conclave('status', '--root', `${root}/none`)).toMatchObject({
      exitCode: 1,
      stdout: [expect.anything()],
      stderr: `conclave: there is nothing at ${root}/none`,
    });
  });

  it('with --watch prints a line for each election, and one whenever it has changed, until a signal', async () => {
    const { root, session, leader } = await startTwo();
    const watch = new RunningCommand(['status', '--root', root, '--watch']);
    await until(() => watch.stdout.split('\n').length > 2, 'the first lines');
    expect(watch.stdout).toBe(
      `${root}/b  led  one term 1  2 candidates\n${root}/deep/a  deserted  -  0 candidates\n`,
    );
    await leader.handOver('two');
    await until(() => watch.stdout.includes(`${root}/b  led  two term 2  2 candidates\n`), 'the next leader');
    const [election] = await lead(session, `${root}/new`, { id: 'new' });
    await until(() => watch.stdout.includes(`${root}/new  led  new term 1  1 candidate\n`), 'a new election');
    await election.stop();
    await until(() => watch.stdout.includes(`${root}/new  deserted`), 'its end');
    await session.remove(`${root}/new`);
    await until(() => watch.stdout.endsWith(`${root}/new  removed\n`), 'its removal');
    expect(await watch.end('SIGINT')).toBe(0);
    expect(watch.stderr).toBe('');
  });

  it('with --watch redraws a terminal, no wider than that is, and gives it back at a signal', async () => {
    const { root, leader } = await startTwo();
    const command = `stty cols 60 rows 10; exec '${process.execPath}' '${PROGRAM}' status --root '${root}' --watch`;
    const script = spawn('script', ['-qefc', command, '/dev/null'], {
      env: { ...process.env, ZOOKEEPER: connectString(), TERM: 'xterm' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    onTestFinished(() => void script.kill('SIGKILL'));
    let screen = '';
    script.stdout.setEncoding('utf8').on('data', (text: string) => {
      screen += text;
    });
    await until(() => screen.includes('one'), 'the first frame');
    expect(screen).toContain('\u001b[?1049h');
    await leader.handOver('two');
    await until(() => /two/.test(screen), 'the next leader');
    script.stdin.write('\u0003'); // Ctrl+C, to the terminal.
    const [exitCode] = await once(script, 'close');
    expect(exitCode).toBe(0);
    expect(screen.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the terminal's commands are what is removed
    const lines = screen.replaceAll(/\u001b\[[?\d;]*[a-zA-Z]/g, '\n').split(/\r?\n/);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
  });

  it('with --watch goes on over a lost connection, and shows what has changed meanwhile', async () => {
    const root = uniquePath('status');
    const proxy = await startProxy();
    const session = await openSession();
    await lead(session, `${root}/a`, { id: 'one' });
    const watch = new RunningCommand(['status', '--root', root, '--watch'], { connect: proxy.connectString });
    await until(() => watch.stdout.includes('one'), 'the first line');
    proxy.cut();
    await lead(session, `${root}/b`, { id: 'two' });
    proxy.restore();
    await until(() => watch.stdout.includes(`${root}/b  led  two term 1  1 candidate\n`), 'the new election');
    expect(await watch.end('SIGTERM')).toBe(0);
  });
});

it('conclave status --watch follows one election, and not those below it', async () => {
  const { session, path } = await openWithPath('status');
  const [leader] = await lead(session, path, { id: 'one' });
  await lead(session, `${path}/below`, { id: 'other' });
  const watch = new RunningCommand(['status', path, '--watch', '--json']);
  await until(() => watch.stdout.includes('\n'), 'the first line');
  await leader.stop();
  await until(() => watch.stdout.includes('"deserted"'), 'the end of the term');
  expect(await watch.end('SIGTERM')).toBe(0);
  const lines = watch.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines[0]).toMatchObject({ election: path, state: 'led', leader: { id: 'one' } });
  expect(new Set(lines.map(({ election }) => election))).toEqual(new Set([path]));
});

it('conclave status --watch ends at once when the pipe that it prints to has no reader any more, as behind head -1', async () => {
  const path = uniquePath('status');
  expect(await inShell('"$0" "$1" status "$2" --watch | head -1', path)).toEqual({
    exitCode: 0,
    stdout: `${path}  absent\n`,
  });
});

describe('conclave status of locks and groups', () => {
  async function startAll() {
    const { root, session } = await startTwo();
    const hold = await new DistributedLock(session, `${root}/lock`).acquire();
    await new Semaphore(session, `${root}/semaphore`, 3).using(() => undefined);
    await session.create(`${root}/group`, { data: Buffer.from('{"format":"conclave.shards.1","count":2}') });
    await session.ensurePath(`${root}/empty`);
    return { root, hold };
  }

  it('has the path and the kind of each in the table, and as JSON', async () => {
    const { root } = await startAll();
    const { stdout } = await conclave('status', '--root', root);
    const words = stdout.slice(1).map((line) => line.split(/ {2,}/).slice(0, 3));
    expect(words).toEqual([
      [`${root}/b`, 'election', 'led'],
      [`${root}/deep/a`, 'election', 'deserted'],
      [`${root}/group`, 'group', 'deserted'],
      [`${root}/lock`, 'lock', 'held'],
      [`${root}/semaphore`, 'semaphore', 'free'],
    ]);
    const json = await conclave('status', '--root', root, '--json');
    expect(JSON.parse(json.stdout.join(''))).toMatchObject([
      { election: `${root}/b` },
      { election: `${root}/deep/a` },
      { group: `${root}/group`, shards: ['0', '1'] },
      { lock: `${root}/lock`, kind: 'lock', holding: 1 },
      { lock: `${root}/semaphore`, kind: 'semaphore', capacity: 3 },
    ]);
  });

  it('without a path has everything below the chroot', async () => {
    const { root } = await startAll();
    const { stdout } = await conclave('status', '-c', `${connectString()}${root}`);
    const paths = stdout.slice(1).map((line) => line.split(/ {2,}/)[0]);
    expect(paths).toEqual(['/b', '/deep/a', '/group', '/lock', '/semaphore']);
  });

  it('prints one in detail, and exits with 1 unless it has a holder or all its owners', async () => {
    const { root, hold } = await startAll();
    expect(await conclave('status', `${root}/lock`)).toMatchObject({
      exitCode: 0,
      stdout: [expect.stringMatching(/^lock {2}held\nholds {2}\S+ {2}joined \S+ ago$/)],
    });
    await hold.release();
    expect(await conclave('status', `${root}/semaphore`)).toMatchObject({
      exitCode: 1,
      stdout: ['semaphore  0 of 3 held'],
    });
    const { exitCode, stdout } = await conclave('status', `${root}/group`, '--json');
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout.join(''))).toMatchObject({ group: `${root}/group`, state: 'deserted' });
  });
});

async function inShell(line: string, root: string) {
  const shell = spawn('sh', ['-c', line, process.execPath, PROGRAM, root], {
    env: { ...process.env, ZOOKEEPER: connectString() },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true, // So that the test can end the whole pipeline.
  });
  onTestFinished(() => {
    if (shell.exitCode === null) process.kill(-(shell.pid as number), 'SIGKILL');
  });
  const stdout = shell.stdout.setEncoding('utf8').toArray();
  const [exitCode] = await once(shell, 'close');
  return { exitCode, stdout: (await stdout).join('') };
}

describe('a wrong path was told as "nobody leads"', () => {
  it.each(['status', 'resign'])('by %s', async (command) => {
    const { session, path: root } = await openWithPath('wrong');
    await lead(session, `${root}/scheduler`);
    const hold = await new DistributedLock(session, `${root}/lock`).acquire();
    await session.ensurePath(`${root}/group`);
    await session.setData(`${root}/group`, Buffer.from('{"format":"conclave.shards.1","count":2}'));
    const said = async (path: string) => await conclave(command, path);
    const folder = `conclave: ${root} is no election, and has other nodes below it: conclave status --root ${root} shows what they are`;
    expect(await said(root)).toMatchObject({ exitCode: 1, stderr: folder });
    const typo = `conclave: there is nothing at ${root}/shceduler: did you mean ${root}/scheduler?`;
    expect(await said(`${root}/shceduler`)).toMatchObject({ exitCode: 1, stderr: typo });
    if (command === 'resign') {
      expect((await said(`${root}/lock`)).stderr).toBe(`conclave: ${root}/lock is a lock, and no election`);
      const group = `conclave: ${root}/group is a group of shards: see conclave shards --help`;
      expect((await said(`${root}/group`)).stderr).toBe(group);
    }
    await hold.release();
  });

  it('and a root that is empty or mistyped as an empty table', async () => {
    const root = uniquePath('wrong');
    await (await openSession()).ensurePath(`${root}/empty`);
    const empty = `conclave: there are no elections, locks and groups of shards at ${root}/empty and below it`;
    expect(await conclave('status', '--root', `${root}/empty`)).toMatchObject({ exitCode: 1, stderr: empty });
    const typo = `conclave: there is nothing at ${root}/emtpy: did you mean ${root}/empty?`;
    expect(await conclave('status', '--root', `${root}/emtpy`)).toMatchObject({ exitCode: 1, stderr: typo });
  });
});

it.each(['status', 'resign'])(
  'conclave %s was refused below a folder that only its owner may list',
  async (command) => {
    const folder = uniquePath('status');
    const owner = await openSession({ auth: { scheme: 'digest', credentials: 'alice:wonder' } });
    await owner.create(folder);
    expect(await conclave(command, `${folder}/election`)).toMatchObject({
      exitCode: 1,
      stderr: `conclave: there is nothing at ${folder}/election`,
    });
  },
);

it('conclave status --root ended with a lost connection, if it was lost at the question whether the root is there', async () => {
  const { proxy, session, path: root } = await openProxied();
  await session.ensurePath(root);
  const lost = proxy.loseReplyTo('exists', { text: root });
  expect(await conclave('status', '--root', root, '--connect', proxy.connectString)).toMatchObject({
    exitCode: 1,
    stderr: `conclave: there are no elections, locks and groups of shards at ${root} and below it`,
  });
  await lost;
});

it('conclave status printed empty lines to a terminal that does not tell its size', async () => {
  const { session, path } = await openWithPath('status');
  await lead(session, path, { id: 'one' });
  const { isTTY, columns } = process.stdout;
  Object.assign(process.stdout, { isTTY: true, columns: 0 });
  try {
    const { stdout } = await conclave('status', '--root', path);
    expect(stdout).toEqual([
      expect.stringMatching(/^PATH /),
      expect.stringContaining(`${path.slice(-8)}  election  led `),
    ]);
  } finally {
    Object.assign(process.stdout, { isTTY, columns });
  }
});

it('conclave status took an election of conclave once, between its runs, for one that nobody leads', async () => {
  const { session, path: root } = await openWithPath('status');
  await lead(session, `${root}/led`);
  const [leader] = await lead(session, `${root}/report`);
  await leader.stop();
  expect((await conclave('status', '--root', root)).exitCode).toBe(1);
  await session.ensurePath(`${root}/report/cron/once`);
  expect((await conclave('status', '--root', root)).exitCode).toBe(0);
});
