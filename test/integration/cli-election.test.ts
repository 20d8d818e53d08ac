import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.js';
import { parseRecord } from '../../src/election/nodes/record.js';
import { campaign, candidateNodes, lead } from '../support/conclave/electors.js';
import { PROGRAM, RunningCommand } from '../support/conclave/running-command.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { until } from '../support/waiting.mjs';

/** Runs a command line in this process, and returns what it printed. */
async function conclave(...words: string[]) {
  const lines: string[] = [];
  const print = vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  const complain = vi.spyOn(console, 'error').mockReturnValue();
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const env = process.env.ZOOKEEPER;
  process.env.ZOOKEEPER = connectString();
  try {
    const exitCode = await runCommandLine(words);
    return { exitCode, stdout: lines, stderr: [...complain.mock.calls, ...write.mock.calls].join('') };
  } finally {
    if (env === undefined) delete process.env.ZOOKEEPER;
    else process.env.ZOOKEEPER = env;
    for (const spy of [print, complain, write]) spy.mockRestore();
  }
}

const COMMANDS = ['run', 'elect', 'observe', 'status', 'resign'];

describe('a command about an election', () => {
  it.each(COMMANDS)('%s has a complete help page', async (name) => {
    const page = await help(name);
    const text = page.replace(/\s+/g, ' ');
    for (const part of [
      `Usage: conclave ${name}`,
      'env: ZOOKEEPER',
      'env: CONCLAVE_AUTH',
      '--session-timeout <duration>',
      '--connect-timeout <duration>',
      '--tls',
      'Durations: 500ms, 30s, 2m, 1h',
      'xits with',
      '64',
      '69',
      '77',
      'Example',
      `conclave ${name} /`,
    ])
      expect(text).toContain(part);
    const options = page.slice(page.indexOf('Options:'), page.indexOf('Durations:'));
    // Each has a description.
    const named = [...options.matchAll(/^ {2}(-\S.*?)(?: {2,}(.*)|$)/gm)];
    expect(named.length).toBeGreaterThan(7);
    for (const [, option, description = ''] of named) expect(description, option).not.toBe('');
  });

  it.each<[words: string[], said: string]>([
    [['status'], "missing required argument 'election'"],
    [['status', 'jobs'], 'Expected an absolute path, beginning with /.'],
    [['status', '/zookeeper/x'], 'Expected a path outside /zookeeper.'],
    [['status', '/a', '--seat', 'x'], 'Expected a whole number from 0 to 9999.'],
    [
      ['status', '/a', '--session-timeout', '0'],
      'Expected a duration, as 500ms, 30s, 2m or 1h, 1 ms at least.',
    ],
    [['status', '/a', '--session-timeout', '5 s'], 'Expected a duration'],
    [['status', '/a', '--session-timeout', '6'], '6 would be 6 milliseconds: write 6s for seconds, or 6ms.'],
    [['status', '/a', '--connect-timeout', '99'], '99 would be 99 milliseconds: write 99s'],
    [['elect', '/a', '--wait-timeout', '30'], '30 would be 30 milliseconds: write 30s'],
    [['elect', '/a', '--takeover-delay', '5'], '5 would be 5 milliseconds: write 5s'],
    [['run', '/a', '--grace', '10', '--', 'ls'], '10 would be 10 milliseconds: write 10s'],
    [['resign', '/a', '--grace', '10'], '10 would be 10 milliseconds: write 10s'],
    [['elect', '/a', '--takeover', 'never'], 'Allowed choices are lease, session.'],
    [['elect', '/a', '--seats', '0'], 'Expected a whole number from 1 to 10000.'],
    [['run', '/a', '--seats', 'x', '--', 'ls'], 'Expected a whole number from 1 to 10000.'],
    [['elect', '/a', 'one', '--data', 'two'], 'the data are given twice: as an argument and with --data'],
    [['status', '/a', '--connect', ''], 'which servers? Give --connect host:port, or set ZOOKEEPER.'],
    [['status', '/a', '--connect', 'host:port'], 'connect'],
    [['status', '/a', '--auth', 'me'], '--auth: expected scheme:credentials'],
    [['status', '/a', '--ca', '/no/such/file'], '--ca: ENOENT'],
    [['status', '/a', '--cert', '/dev/null'], '--cert and --key go together.'],
    [['status', '/a', '--cert', '/dev/null', '--key', '/dev/null'], 'tls is "(not shown)"'],
    [['resign', '/a', '--grace', '-1s'], 'Expected a duration'],
    [['elect', '/a', 'data', 'more'], "too many arguments for 'elect'"],
    [['elect', '/a', 'x'.repeat(20_000)], 'at most 16384 bytes'],
    [['elect', '/a', '--priority', '256'], 'Expected a whole number from 0 to 255.'],
    [['elect', '/a', '--id', ''], 'Expected'],
    [['elect', '/a', '--no-wait', '--wait-timeout', '1s'], 'cannot be used with option'],
    [['run', '/a'], "missing required argument 'command'"],
    [['run', '/a', 'ls', '-l'], "unknown option '-l'"],
    [['run', '/a', '--grace', 'long', '--', 'ls'], 'Expected a duration'],
  ])('refuses %j', async (words, said) => {
    const { exitCode, stdout, stderr } = await conclave(...words);
    expect(stderr).toContain(said);
    expect({ exitCode, stdout }).toEqual({ exitCode: 64, stdout: [] });
  });

  it('logs to standard error, at the level that the environment names', async () => {
    // The servers grant another session timeout, which is a warning.
    const words = ['status', '/a', '--session-timeout', '1ms'];
    const log = new RunningCommand(words, { env: { CONCLAVE_LOG_LEVEL: 'warn' } });
    expect(await log.exit()).toBe(1);
    expect(log.stdout).toBe('there is no such election\n');
    expect(log.stderr).toContain('"name":"conclave"');
    const wrong = new RunningCommand(['status', '/a'], { env: { CONCLAVE_LOG_LEVEL: 'loud' } });
    expect(await wrong.exit()).toBe(64);
    expect(wrong.stderr).toContain('CONCLAVE_LOG_LEVEL is "loud": expected one of silent');
  });

  it.each(['elect', 'observe', 'status', 'resign'])(
    '%s ends with 69 when no server is there',
    async (name) => {
      const { exitCode, stderr } = await conclave(
        name,
        '/a',
        '-c',
        '127.0.0.1:1',
        '--connect-timeout',
        '200ms',
      );
      expect(exitCode).toBe(69);
      expect(stderr).toContain('conclave: no server');
    },
  );
});

async function help(name: string): Promise<string> {
  const lines: string[] = [];
  const print = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    lines.push(String(text));
    return true;
  });
  onTestFinished(() => print.mockRestore());
  expect(await runCommandLine([name, '--help'])).toBe(0);
  print.mockRestore();
  return lines.join('');
}

describe('conclave status', () => {
  it('exits with 1 if there is no such election, and if it has no leader', async () => {
    const path = uniquePath('cli');
    expect(await conclave('status', path)).toMatchObject({
      exitCode: 1,
      stdout: ['there is no such election'],
    });
    await (await openSession()).create(path);
    expect(await conclave('status', path)).toMatchObject({ exitCode: 1, stdout: ['nobody leads'] });
    const { exitCode, stdout } = await conclave('status', path, '--json');
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout[0] as string)).toEqual({
      election: path,
      exists: true,
      leader: null,
      candidates: [],
    });
  });

  it('prints the leader and the waiting candidates in the order of the queue, with control characters escaped', async () => {
    const path = uniquePath('cli');
    const session = await openSession();
    await lead(session, path, { id: 'one', data: 'at\n\u001b[2Jhome' });
    await campaign(session, path, { id: 'two', data: new Uint8Array([1, 2, 255]) });
    await campaign(session, path, { id: 'three' });
    expect(await conclave('status', path)).toMatchObject({
      exitCode: 0,
      stdout: [
        expect.stringMatching(
          /^term 1 {2}one {2}at\\u000a\\u001b\[2Jhome\nheartbeat {2}\d+ ms ago, .*\nwaits {2}two {2}\(3 bytes\)\nwaits {2}three$/,
        ),
      ],
    });
    const { stdout } = await conclave('status', path, '--json');
    expect(JSON.parse(stdout[0] as string)).toMatchObject({
      exists: true,
      term: 1,
      leader: { id: 'one', position: 0, data: 'at\n\u001b[2Jhome' },
      heartbeatAgeMs: expect.any(Number),
      candidates: [
        { id: 'one', position: 0 },
        { id: 'two', position: 1, base64: 'AQL/' },
        { id: 'three', position: 2 },
      ],
    });
  });

  it('prints the leader of one seat of several', async () => {
    const path = uniquePath('cli');
    const session = await openSession();
    await lead(session, path, { id: 'one', seats: 2 });
    await lead(session, path, { id: 'two', seats: 2 });
    expect((await conclave('status', path, '--seat', '1')).stdout).toEqual([
      expect.stringMatching(/^term 1 {2}two\nheartbeat {2}\d+ ms ago, .*\nwaits {2}one$/),
    ]);
  });

  it('prints how old the newest heartbeat of a leader is that falls silent', async () => {
    const path = uniquePath('cli');
    const proxy = await startProxy();
    await lead(await openSession({ sessionTimeoutMs: 20_000, leaseMs: 400 }, proxy.connectString), path);
    const age = async () => {
      const { stdout } = await conclave('status', path, '--json');
      return JSON.parse(stdout[0] as string).heartbeatAgeMs as number;
    };
    await until(async () => (await age()) < 400, 'a heartbeat');
    proxy.partition();
    await until(async () => (await age()) > 1000, 'none for longer than two leases');
  });

  it('prints no age of a heartbeat for a leader whose term goes by its session', async () => {
    const path = uniquePath('cli');
    await lead(await openSession(), path, { id: 'one', takeover: 'session' });
    expect((await conclave('status', path)).stdout).toEqual(['term 1  one']);
    const { stdout } = await conclave('status', path, '--json');
    expect(JSON.parse(stdout[0] as string)).not.toHaveProperty('heartbeatAgeMs');
  });
});

describe('conclave resign', () => {
  it('lets the leader step down', async () => {
    const path = uniquePath('cli');
    const session = await openSession();
    const [first] = await lead(session, path, { id: 'one' });
    const second = await campaign(session, path, { id: 'two' });
    expect(await conclave('resign', path)).toMatchObject({ exitCode: 0, stdout: ['one'] });
    await until(() => second.term !== undefined, 'the next term');
    expect(first.term).toBeUndefined();
  });

  it('exits with 1 if there is no leader, and with 75 if the leader refuses', async () => {
    const path = uniquePath('cli');
    expect(await conclave('resign', path)).toMatchObject({ exitCode: 1, stdout: ['nobody leads'] });
    await lead(await openSession(), path, { id: 'one', onRevoke: () => false });
    const { exitCode, stdout, stderr } = await conclave('resign', path, '--grace', '1s');
    expect({ exitCode, stdout }).toEqual({ exitCode: 75, stdout: [] });
    expect(stderr).toBe('conclave: "one" did not step down: it refused'.replaceAll('"', ''));
  });
});

describe('conclave elect', () => {
  it.each<[json: string[], line: RegExp]>([
    [[], /^me term 1 token \d+\n$/],
    [['--json'], /^\{"id":"me","term":1,"token":"\d+"\}\n$/],
  ])('prints with %j that it leads, advertises its data, and gives leadership back', async (json, line) => {
    const path = uniquePath('cli');
    const session = await openSession();
    const runner = new RunningCommand(['elect', path, 'here', '--id', 'me', ...json]);
    await until(() => runner.stdout.includes('\n'), 'its election');
    expect(runner.stdout).toMatch(line);
    const next = await campaign(session, path);
    expect(await next.leader()).toMatchObject({ id: 'me', data: 'here' });
    runner.signal('SIGINT');
    expect(await runner.exit()).toBe(0);
    await until(() => next.term !== undefined, 'the next term');
    expect(runner.stderr).toBe('');
  });

  it('takes a seat of several, and advertises data that are given as an option, as run does', async () => {
    const path = uniquePath('cli');
    const seats = ['--seats', '2', '--data', 'here'];
    const text = new RunningCommand(['elect', path, '--id', 'a', ...seats]);
    await until(() => text.stdout.includes('\n'), 'the first election');
    expect(text.stdout).toMatch(/^a seat 0 term 1 token \d+\n$/);
    const json = new RunningCommand(['elect', path, '--id', 'b', '--json', ...seats]);
    await until(() => json.stdout.includes('\n'), 'the second election');
    expect(json.stdout).toMatch(/^\{"id":"b","seat":1,"term":1,"token":"\d+"\}\n$/);
    expect((await conclave('status', path, '--seat', '1')).stdout).toEqual([
      expect.stringMatching(/^term 1 {2}b {2}here\nheartbeat {2}\d+ ms ago, .*\nwaits {2}a {2}here$/),
    ]);
    text.signal('SIGTERM');
    expect(await text.exit()).toBe(0);
    const show = ['--', 'sh', '-c', 'echo seat $CONCLAVE_SEAT'];
    const command = new RunningCommand(['run', path, ...seats, ...show]);
    expect(await command.exit()).toBe(0);
    expect(command.stdout).toBe('seat 0\n');
    const wrong = new RunningCommand(['run', path, '--seats', '3', ...show]);
    expect(await wrong.exit()).toBe(64);
    expect(wrong.stderr).toContain('was given 3 seats, and has 2');
  });

  it.each([
    ['lease', 'lease'],
    ['session', undefined],
  ])('leads a term that can be taken over by its %s', async (takeover, written) => {
    const path = uniquePath('cli');
    const runner = new RunningCommand(['elect', path, '--takeover', takeover]);
    await until(() => runner.stdout.includes('\n'), 'its election');
    const { data, stat } = await (await openSession()).getData(path);
    const record = parseRecord(data, stat.version);
    expect(record).toMatchObject({ state: 'held', term: 1 });
    expect('takeover' in record ? record.takeover : undefined).toBe(written);
  });

  it('exits with 76 when it was asked to step down', async () => {
    const path = uniquePath('cli');
    const runner = new RunningCommand(['elect', path]);
    await until(() => runner.stdout.includes('\n'), 'its election');
    expect((await conclave('resign', path)).exitCode).toBe(0);
    expect(await runner.exit()).toBe(76);
  });

  it('exits with 76 when leadership was lost', async () => {
    const path = uniquePath('cli');
    const session = await openSession();
    const runner = new RunningCommand(['elect', path]);
    await until(() => runner.stdout.includes('\n'), 'its election');
    const [node] = await candidateNodes(session, path);
    await session.remove(`${path}/${node}`);
    expect(await runner.exit()).toBe(76);
    expect(runner.stderr).toBe('conclave: leadership lost\n');
  });

  it('leaves the queue at a signal', async () => {
    const path = uniquePath('cli');
    await campaign(await openSession(), path);
    const runner = new RunningCommand(['elect', path, '-v']);
    await until(() => runner.stderr.includes('waiting, with 1 ahead'), 'a place in the queue');
    runner.signal('SIGTERM');
    expect(await runner.exit()).toBe(143);
    expect(runner.stdout).toBe('');
  });
});

describe('conclave observe', () => {
  it.each<[json: string[], lines: string[]]>([
    [[], ['nobody leads', 'one  here', 'nobody leads']],
    [
      ['--json'],
      [
        '{"leader":null}',
        expect.stringMatching(/^\{"leader":\{"id":"one","node":"_c_[^"]+","position":0,"data":"here"\}\}$/),
        '{"leader":null}',
      ],
    ],
  ])('prints the leader with %j at each change, until a signal stops it', async (json, lines) => {
    const path = uniquePath('cli');
    const observer = new RunningCommand(['observe', path, ...json]);
    const count = (number: number) =>
      until(() => observer.stdout.split('\n').length > number, `line ${number}`);
    await count(1);
    const [elector] = await lead(await openSession(), path, { id: 'one', data: 'here' });
    await count(2);
    await elector.stop();
    await count(3);
    observer.signal('SIGTERM');
    expect(await observer.exit()).toBe(0);
    expect(observer.stdout.trimEnd().split('\n')).toEqual(lines);
  });

  it('ends at once when the pipe that it prints to has no reader any more, as behind head -1', async () => {
    const line = '"$0" "$1" observe "$2" | head -1';
    const words = ['-c', line, process.execPath, PROGRAM, uniquePath('cli')];
    const shell = spawn('sh', words, {
      env: { ...process.env, ZOOKEEPER: connectString() },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true, // So that all of the pipeline can be ended.
    });
    onTestFinished(() => {
      if (shell.exitCode === null) process.kill(-(shell.pid as number), 'SIGKILL');
    });
    const printed = shell.stdout.setEncoding('utf8').toArray();
    const [code] = await once(shell, 'exit'); // Which waits for both ends of the pipe.
    expect(code).toBe(0);
    expect(await printed).toEqual(['nobody leads\n']);
  });

  it('ends when the reader of its output has closed the pipe', async () => {
    const path = uniquePath('cli');
    const observer = new RunningCommand(['observe', path]);
    await until(() => observer.stdout !== '', 'the first line');
    observer.process.stdout?.destroy();
    await lead(await openSession(), path);
    expect(await observer.exit()).toBe(0);
    expect(observer.stderr).toBe('');
  });
});
