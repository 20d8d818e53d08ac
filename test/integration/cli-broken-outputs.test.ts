import { fork } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../tools/ports.mjs';
import { BROKEN_OUTPUTS } from '../support/conclave/broken-outputs.js';
import { RunningCommand, type RunningCommandOptions } from '../support/conclave/running-command.js';
import { uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { until, within } from '../support/waiting.mjs';

const KEEPER = join(import.meta.dirname, '../../dist/cluster/run-command/keeper.js');

/** A command that goes on until it is ended. It prints a line on standard output, and more than one on standard error. */
interface Case {
  readonly words: readonly string[];
  readonly env?: Record<string, string>;
  end(command: RunningCommand): void;
  readonly exitCode: number;
}

const stop = (command: RunningCommand) => command.signal('SIGTERM');

const COMMANDS: Record<string, () => Case> = {
  run: () => ({
    words: ['run', uniquePath('broken'), '--verbose', '--', 'sh', '-c', 'echo runs; read line; exit 3'],
    end: (command) => void command.process.stdin?.end(),
    exitCode: 3,
  }),
  guard: () => ({
    words: ['guard', '--restart', '--', 'sh', '-c', 'echo runs; read line && exit 1; exit 0'],
    end: (command) => void command.process.stdin?.end('again\n'),
    exitCode: 0,
  }),
  'status --watch': () => ({
    words: ['status', uniquePath('broken'), '--watch'],
    env: { CONCLAVE_LOG_LEVEL: 'debug' },
    end: stop,
    exitCode: 0,
  }),
  'dev-server': () => ({ words: ['dev-server', '--port', '0'], end: stop, exitCode: 0 }),
};

function start(
  words: readonly string[],
  streams: Pick<RunningCommandOptions, 'stdin' | 'stdout' | 'stderr'>,
  env: Record<string, string> = {},
): RunningCommand {
  return new RunningCommand(words, { env, stdin: 'pipe', ...streams });
}

const exitOf = (command: RunningCommand) => within(20_000, command.exit(), 'it has not ended');
const said = (command: RunningCommand, text: string) =>
  until(() => command.stderr.includes(text), `'${text}' on standard error`);

describe.each(Object.entries(COMMANDS))('conclave %s', (_, make) => {
  /** Runs it with this standard error, which `lose` may break, and checks its exit code. */
  async function endsAsUsual(stderr: number | 'closed', lose = () => Promise.resolve()): Promise<void> {
    const { words, env, end, exitCode } = make();
    const command = start(words, { stderr }, env);
    await until(() => command.stdout.includes('\n'), 'a line on standard output');
    await lose();
    end(command);
    expect(await exitOf(command)).toBe(exitCode);
  }

  it.each(['on a full device', 'a terminal that is gone'] as const)(
    'works, and has its exit code, when its standard error is %s (it died at its first message, hung or was aborted)',
    async (name) => {
      const { descriptor, lose } = await BROKEN_OUTPUTS[name]();
      await endsAsUsual(descriptor, lose);
    },
  );

  it('works, and has its exit code, when its standard error is a closed pipe, or there is none', async () => {
    const { descriptor } = BROKEN_OUTPUTS['a closed pipe']();
    await endsAsUsual(descriptor);
    await endsAsUsual('closed');
  });
});

describe('standard output that can not be written', () => {
  it('makes a command that did all it was asked to exit with 74, and say why, once (it died with a stack)', async () => {
    const { descriptor } = BROKEN_OUTPUTS['on a full device']();
    const command = start(['--version'], { stdout: descriptor });
    expect(await exitOf(command)).toBe(74);
    expect(command.stderr).toMatch(/^conclave: standard output can't be written: ENOSPC.*\n$/);
  });

  it('does not keep a server from serving until a signal stops it (it died with a stack)', async () => {
    const { descriptor } = BROKEN_OUTPUTS['on a full device']();
    const port = await freePort();
    const server = start(['dev-server', '--port', String(port)], { stdout: descriptor });
    await said(server, "standard output can't be written");
    const status = start(['status', '/elections/one', '--connect', `127.0.0.1:${port}`], {});
    expect(await exitOf(status)).toBe(1);
    expect(status.stdout).toBe('there is no such election\n');
    stop(server);
    expect(await exitOf(server)).toBe(74);
  });

  it('leaves a command that fails its exit code', async () => {
    const { descriptor } = BROKEN_OUTPUTS['on a full device']();
    const status = start(['status', uniquePath('broken')], { stdout: descriptor });
    expect(await exitOf(status)).toBe(1);
    expect(status.stderr).toContain("standard output can't be written");
  });

  it('ends a command that does nothing but print (it died with a stack)', async () => {
    const { descriptor } = BROKEN_OUTPUTS['on a full device']();
    expect(await exitOf(start(['status', uniquePath('broken'), '--watch'], { stdout: descriptor }))).toBe(74);
  });

  it('is no failure if its reader has closed the pipe: it wanted no more', async () => {
    const { descriptor } = BROKEN_OUTPUTS['a closed pipe']();
    const command = start(['--version'], { stdout: descriptor });
    expect(await exitOf(command)).toBe(0);
    expect(command.stderr).toBe('');
  });
});

describe('a terminal that is gone', () => {
  it.each(['stdin', 'stdout'])(
    'leaves run its exit code when it is its %s (it was aborted)',
    async (stream) => {
      const { descriptor, lose } = await BROKEN_OUTPUTS['a terminal that is gone']();
      const words = ['run', uniquePath('broken'), '--verbose', '--', 'sleep', '1000'];
      const command = start(words, { [stream]: descriptor });
      await said(command, 'elected for term');
      await lose();
      stop(command);
      expect(await exitOf(command)).toBe(143);
    },
  );

  it('leaves a keeper its exit code too', async () => {
    const { descriptor, lose } = await BROKEN_OUTPUTS['a terminal that is gone']();
    const keeper = fork(KEEPER, { stdio: ['ignore', descriptor, 'inherit', 'ipc'] });
    onTestFinished(() => void keeper.kill('SIGKILL'));
    const ended = nextEvent(keeper, 'exit');
    await nextEvent(keeper, 'message'); // It is ready.
    await lose();
    keeper.disconnect();
    expect(await ended).toEqual([0, null]);
  });
});
