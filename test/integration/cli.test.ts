import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { runCommandLine } from '../../src/cli/command-line.js';
import { Session } from '../../src/session/session.js';
import { freePort } from '../../tools/ports.mjs';
import { fourLetterWord } from '../../tools/zookeeper/four-letter-word.mjs';
import { RunningCommand } from '../support/conclave/running-command.js';
import { listening } from '../support/listening.js';
import { until } from '../support/waiting.mjs';

/** Runs the command to its end, as a shell would. */
async function conclave(...words: string[]) {
  const command = new RunningCommand(words);
  return { exitCode: await command.exit(), stdout: command.stdout, stderr: command.stderr };
}

/** Starts a server, and waits for its address. */
async function startServer(...words: string[]): Promise<RunningCommand> {
  const server = new RunningCommand(['dev-server', ...words]);
  await until(() => server.stdout.endsWith('\n'), 'its address');
  return server;
}

describe('the command line', () => {
  it('prints its help and its version on request', async () => {
    const help = await conclave('--help');
    expect(help).toMatchObject({ exitCode: 0, stderr: '' });
    expect(help.stdout).toContain('Usage: conclave [options] [command]');
    expect(help.stdout).toMatch(/dev-server \[options\] +start a ZooKeeper server for development/);
    for (const name of ['run', 'resign'])
      expect(help.stdout).toMatch(new RegExp(`^ {2}${name} \\[options\\] <election>.* {2}\\w`, 'm'));
    expect(help.stdout).toMatch(/^ {2}status \[options\] \[path\] +\w/m);
    expect(help.stdout).toMatch(/^ {2}guard \[options\] <program\.\.\.> +\w/m);
    expect(help.stdout).toMatch(/^ {2}prune \[options\] <path> +\w/m);
    for (const name of ['ZOOKEEPER', 'CONCLAVE_AUTH', 'CONCLAVE_LOG_LEVEL'])
      expect(help.stdout).toContain(name);
    expect(await conclave('--version')).toMatchObject({ exitCode: 0, stdout: `${packageJson.version}\n` });
  });

  it('prints the help of a command', async () => {
    const help = await conclave('dev-server', '--help');
    expect(help).toMatchObject({ exitCode: 0, stderr: '' });
    for (const part of [
      '--port <number>',
      '(default: 2181)',
      '--host <address>',
      '(choices: "127.0.0.1", "::1", "localhost", default: "127.0.0.1")',
      '--tick-ms <milliseconds>',
      '(default: 500)',
      '--dialect <release>',
      '(choices: "3.8", "3.9", "keeper", default: "3.8")',
      'Never use it in production',
      'Exits with 0',
      'conclave dev-server --port 2181 &',
    ])
      expect(help.stdout.replace(/\s+/g, ' ')).toContain(part);
    expect((await conclave('help', 'dev-server')).stdout).toBe(help.stdout);
  });

  it.each<[words: string[], said: string]>([
    [[], 'Usage: conclave'],
    [['lead'], "unknown command 'lead'"],
    [['--port', '1'], "unknown option '--port'"],
    [['dev-server', 'now'], "too many arguments for 'dev-server'"],
    [['dev-server', '--prot', '2181'], 'Did you mean --port?'],
    [['dev-server', '--port'], "option '-p, --port <number>' argument missing"],
    [['dev-server', '--port', '65536'], 'Expected a whole number from 0 to 65535.'],
    [['dev-server', '--port', '-1'], 'Expected a whole number from 0 to 65535.'],
    [['dev-server', '--port', '0x10'], 'Expected a whole number from 0 to 65535.'],
    [['dev-server', '--tick-ms', '0'], 'Expected a whole number from 1 to 60000.'],
    [['dev-server', '--tick-ms', '1.5'], 'Expected a whole number from 1 to 60000.'],
    [['dev-server', '--host', '0.0.0.0'], 'Allowed choices are 127.0.0.1, ::1, localhost.'],
  ])('refuses %j, says why, and does nothing else', async (words, said) => {
    const print = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const complain = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await runCommandLine(words)).toBe(64);
    expect(print.mock.calls).toEqual([]);
    expect(complain.mock.calls.join('')).toContain(said);
  });

  it('ends with exit code 64 then, without a stack', async () => {
    const { exitCode, stdout, stderr } = await conclave('dev-server', '--port', 'any');
    expect({ exitCode, stdout }).toEqual({ exitCode: 64, stdout: '' });
    expect(stderr).toContain('Expected a whole number from 0 to 65535.');
    expect(stderr).not.toMatch(/^ {4}at /m);
  });
});

describe('conclave dev-server', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'serves, prints its address and purpose, and stops at %s',
    async (signal) => {
      const server = await startServer('--port', '0', '--tick-ms', '100');
      const line = server.stdout;
      expect(line).toMatch(/^127\.0\.0\.1:\d+\n$/);
      const session = await Session.connect(line.trim(), { sessionTimeoutMs: 60_000 });
      onTestFinished(() => session.close({ timeoutMs: 0 }));
      expect(session.sessionTimeoutMs).toBe(2000);
      expect((await session.create('/node')).value).toBe('/node');
      expect([await server.end(signal), server.stdout]).toEqual([0, line]);
      expect(server.stderr).toBe(
        'conclave: this server is for tests and demos only: in memory, and open to every user of this machine\n',
      );
      await expect(fourLetterWord(Number(line.split(':')[1]), 'ruok')).rejects.toThrow('ECONNREFUSED');
    },
  );

  it('gives higher zxids at each start, so that fences of former starts let new leaders pass', async () => {
    const nextZxid = async () => {
      const server = await startServer('--port', '0');
      const session = await Session.connect(server.stdout.trim());
      const { zxid } = await session.create('/node');
      await session.close({ timeoutMs: 0 });
      await server.end('SIGKILL');
      return zxid;
    };
    const [first, second] = [await nextZxid(), await nextZxid()];
    expect(second).toBeGreaterThan(first);
    expect(second).toBeLessThan(BigInt(Number.MAX_SAFE_INTEGER));
  });

  it('listens at the given host and port', async () => {
    const port = await freePort();
    const { stdout } = await startServer('-p', String(port), '--host', 'localhost');
    expect(stdout).toBe(`localhost:${port}\n`);
    expect(await fourLetterWord(port, 'ruok', 'localhost')).toBe('imok');
    expect((await startServer('-p', '0', '--host', '::1')).stdout).toMatch(/^\[::1\]:\d+\n$/);
  });

  it('names a port that is taken, in one line, with exit code 69', async () => {
    const port = await listening(createServer());
    expect(await conclave('dev-server', '--port', String(port))).toEqual({
      exitCode: 69,
      stdout: '',
      stderr: `conclave: port ${port} of 127.0.0.1 is in use. Give another one with --port, or --port 0 for any free port.\n`,
    });
  });
});
