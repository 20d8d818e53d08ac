import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../../package.json' with { type: 'json' };
import { type ProcessEntry, readProcesses } from '../../../src/cluster/run-command/command-processes.js';
import { temporaryFolder } from '../temporary-folder.js';
import { onTestFinished } from '../vitest/test-end.js';
import { until } from '../waiting.mjs';
import { connectString } from './sessions.js';

/** The built `conclave` command. */
export const PROGRAM = join(import.meta.dirname, '../../..', packageJson.bin.conclave);
/** A command that only SIGKILL ends, with a child of the same kind. Its argument is the file to which it writes. */
export const STUBBORN = join(import.meta.dirname, '../../fixtures/ignore-signals.mjs');

/** The words by which a keeper is started, and by which it calls itself. */
const KEEPER = /\/keeper\.js\0|^conclave keeper/;

/** The options for the `conclave` command. */
export interface RunningCommandOptions {
  readonly connect?: string;
  readonly env?: Record<string, string>;
  /** Its standard input, perhaps as a descriptor of the test's process. @default nothing */
  readonly stdin?: 'ignore' | 'pipe' | number | undefined;
  /** Its standard output, likewise. @default a pipe that the test reads */
  readonly stdout?: number | undefined;
  /** Its standard error, likewise; `closed`: it has none. @default a pipe that the test reads */
  readonly stderr?: number | 'closed' | undefined;
  /** @default the built command */
  readonly program?: string;
}

/** A `conclave` command that is running. It ends with the test, and so does its own command. */
export class RunningCommand {
  readonly process: ChildProcess;
  /** Its output so far. */
  stdout = '';
  stderr = '';
  readonly #exited: Promise<unknown[]>;

  constructor(
    words: readonly string[],
    {
      connect = connectString(),
      env = {},
      stdin = 'ignore',
      stdout,
      stderr,
      program = PROGRAM,
    }: RunningCommandOptions = {},
  ) {
    const commandLine = [process.execPath, program, ...words];
    const [file = '', ...args] =
      stderr === 'closed' ? ['sh', '-c', 'exec "$@" 2>&-', 'sh', ...commandLine] : commandLine;
    this.process = spawn(file, args, {
      env: { ...process.env, ZOOKEEPER: connect, ...env },
      stdio: [stdin, stdout ?? 'pipe', stderr === 'closed' ? 'pipe' : (stderr ?? 'pipe')],
    });
    this.process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.#exited = once(this.process, 'close');
    onTestFinished(async () => {
      this.process.kill('SIGKILL');
      await this.#exited; // The keeper and the command share its output, so they are gone then, too.
    });
  }

  get pid(): number {
    return this.process.pid as number;
  }

  /**
   * The process that keeps its command, or waits for the next one. A child that hasn't become that program yet doesn't
   * count: its parent waits for that, and would wait for a stopped child, too.
   */
  get keeperPid(): number | undefined {
    const isKeeper = ({ pid, parent, isDead }: ProcessEntry) =>
      parent === this.pid && !isDead && KEEPER.test(commandLine(pid));
    return readProcesses().find(isKeeper)?.pid;
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }

  /** Resolves with its exit code or the signal that ended it, when it and all processes that share its output have ended. */
  async exit(): Promise<number | string> {
    const [code, signal] = await this.#exited;
    return (code ?? signal) as number | string;
  }

  /** Sends it the signal, and resolves as {@link exit} does. */
  end(signal: NodeJS.Signals): Promise<number | string> {
    this.signal(signal);
    return this.exit();
  }
}

/** The words by which a process was started, or calls itself; empty if it has ended. */
function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

/** One line of {@link STUBBORN}. */
export interface Activity {
  readonly term: number;
  readonly candidate: string;
  readonly role: string;
  readonly pid: number;
  /** By the machine's monotonic clock, in milliseconds. */
  readonly atMs: number;
}

/** The time by the machine's monotonic clock, as in {@link Activity}. */
export function machineNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The file to which commands write that they run. */
export class ActivityLog {
  readonly file: string;
  readonly #terms = new Map<number, Activity[]>();
  #readTo = 0;

  constructor() {
    this.file = join(temporaryFolder(), 'acts');
    writeFileSync(this.file, '');
  }

  /** The lines that were written in each term, in their order. */
  terms(): ReadonlyMap<number, readonly Activity[]> {
    const text = readFrom(this.file, this.#readTo);
    const whole = text.slice(0, text.lastIndexOf('\n') + 1); // The last line may not have been written to its end.
    this.#readTo += whole.length;
    for (const line of whole.split('\n').slice(0, -1)) {
      const [term, candidate = '', role = '', pid, at] = line.split(' ');
      const act = { term: Number(term), candidate, role, pid: Number(pid), atMs: Number(at) / 1000 };
      const acts = this.#terms.get(act.term);
      if (acts === undefined) this.#terms.set(act.term, [act]);
      else acts.push(act);
    }
    return this.#terms;
  }

  /** The lines of the newest term, once both the command and its child have written some. */
  newest(): readonly Activity[] {
    const terms = this.terms();
    const newest = terms.get(Math.max(...terms.keys())) ?? [];
    return new Set(newest.map(({ role }) => role)).size === 2 ? newest : [];
  }
}

function readFrom(file: string, position: number): string {
  const descriptor = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(fstatSync(descriptor).size - position);
    const length = readSync(descriptor, bytes, 0, bytes.length, position);
    return bytes.toString('latin1', 0, length);
  } finally {
    closeSync(descriptor);
  }
}

/** Whether a process exists and isn't a zombie. */
export function isAlive(pid: number): boolean {
  return readProcesses().some((entry) => entry.pid === pid && !entry.isDead);
}

/**
 * Starts `conclave run` with a command that doesn't end, and waits until the command runs. The session is so long that no server ends it
 * before a keeper does.
 * @param words - options of `conclave run`
 */
export async function leadingCommand(
  path: string,
  words: readonly string[],
  options: RunningCommandOptions = {},
): Promise<RunningCommand> {
  const command = ['--', 'sh', '-c', 'echo leads; sleep 1000'];
  const runner = new RunningCommand(['run', path, ...words, '--session-timeout', '60s', ...command], options);
  await until(() => runner.stdout === 'leads\n', 'the term');
  return runner;
}
