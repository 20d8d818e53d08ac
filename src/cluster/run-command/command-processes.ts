import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { exponentialPauseMs } from '../../platform/retry/backoff.js';

/** A process as Linux shows it in `/proc/<pid>/stat`. */
export interface ProcessEntry {
  readonly pid: number;
  readonly isDead: boolean; // Whether it is a zombie: all its threads have ended, and its parent hasn't waited for it yet.
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** When it was started, in clock ticks since the machine's start. Together with `pid` it identifies a process for good. */
  readonly startedAt: number;
}

const FIELDS = { state: 0, parent: 1, group: 2, session: 3, threads: 17, startedAt: 19 } as const;

/** @param stat - the file's content: the process id, the program's name in parentheses, and the fields */
export function parseStat(stat: string): ProcessEntry | undefined {
  // The name may contain spaces and parentheses. The last closing parenthesis ends it.
  const afterName = stat.lastIndexOf(')');
  const fields = stat.slice(afterName + 2).split(' ');
  const number = (field: keyof typeof FIELDS) => Number(fields[FIELDS[field]]);
  const entry = {
    pid: Number.parseInt(stat, 10),
    // The state is Z also when only the first thread has ended, and others still run.
    isDead: /^[ZXx]$/.test(fields[FIELDS.state] ?? '') && number('threads') <= 1,
    parent: number('parent'),
    group: number('group'),
    session: number('session'),
    startedAt: number('startedAt'),
  };
  const isWhole = [entry.pid, entry.parent, entry.group, entry.session, entry.startedAt].every(
    Number.isInteger,
  );
  return afterName > 0 && isWhole ? entry : undefined;
}

/** `undefined` if there is no such process, or the system has no process table. */
export function readProcess(pid: number | string): ProcessEntry | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return undefined;
  }
}

/** All processes that this one may see; none if the system has no process table. */
export function readProcesses(): ProcessEntry[] {
  try {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.map(readProcess).filter((entry) => entry !== undefined);
  } catch {
    return [];
  }
}

/** Whether a process was started with an environment variable; `false` if that can't be read. */
export function hasVariable({ pid }: ProcessEntry, name: string, value: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`${name}=${value}`);
  } catch {
    return false;
  }
}

const FIRST_MS = 2;
const LONGEST_MS = 1000;
const FACTOR = 1.1;

/**
 * How long to wait before the `poll`th look (from 1) whether processes are gone that aren't children of this one: no event reports their
 * end. Each look reads the whole process table, and some processes don't die for hours, in the kernel say. So each pause is a tenth longer
 * than the one before: the end is seen about a tenth later than it came, and by a second at most.
 */
export function pauseBeforePollMs(poll: number): number {
  return exponentialPauseMs(poll, FIRST_MS, LONGEST_MS, FACTOR);
}

/** A command and those of its descendants that have to end with it. */
export type CommandProcesses = Pick<PosixSession, 'signal' | 'isGone'>;

/**
 * A session of processes in the sense of POSIX (`setsid`): its leader and all descendants, except those that have begun
 * sessions of their own. On Linux, where the process table shows them, all its process groups count: a shell with job
 * control makes one for each job, and so does `timeout`. Elsewhere only the leader's group counts.
 *
 * The session's number is its leader's process id. The system gives it to no other process as long as anything is left of
 * the session, even a zombie; after that it may. So if a process with this number started at another time than our leader,
 * our session is gone, and we send that process nothing.
 */
export class PosixSession {
  readonly #id: number;
  readonly #startedAt: number | undefined;

  /** @param startedAt - when its leader was started, by the process table, where there is one */
  constructor(id: number, startedAt: number | undefined) {
    this.#id = id;
    this.#startedAt = startedAt;
  }

  /** Sends a signal to all of them. Does nothing if they are gone. */
  signal(name: NodeJS.Signals): void {
    if (this.#isReplaced()) return;
    trySignal(-this.#id, name); // First, without a delay: the other groups have to be looked up.
    for (const group of new Set(this.#members().map((member) => member.group)))
      if (group !== this.#id) trySignal(-group, name);
  }

  /** Whether none of them runs any more. */
  isGone(): boolean {
    if (this.#isReplaced()) return true;
    // One look proves nothing: while it goes on, a process ahead of it may fork a child behind it, and end before the look comes.
    return this.#seemsGone() && this.#seemsGone();
  }

  #seemsGone(): boolean {
    const members = this.#members();
    if (members.some(({ isDead }) => !isDead)) return false;
    // Zombies count as gone: in a container whose first process doesn't reap them they stay for good. But a group without
    // visible members counts as alive while it takes signals: the system may hide other users' processes.
    return members.length > 0 || !trySignal(-this.#id, 0);
  }

  #members(): ProcessEntry[] {
    return readProcesses().filter(({ session }) => session === this.#id);
  }

  #isReplaced(): boolean {
    const leader = this.#startedAt === undefined ? undefined : readProcess(this.#id);
    return leader !== undefined && leader.startedAt !== this.#startedAt;
  }
}

/** Whether there is such a process, even one of another user that can't be signalled. */
function trySignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/**
 * The words that come before a command so that the kernel sends it this signal when this process ends, however that ends. They start
 * util-linux's `setpriv`, which becomes the command. None where there is no such program: then the command lives on.
 */
export function endingWithParent(signal: 'KILL' | 'TERM'): readonly string[] {
  const setpriv = ['setpriv', '--pdeathsig', signal] as const;
  const [program, ...words] = setpriv;
  const works =
    process.platform === 'linux' && spawnSync(program, [...words, 'true'], { stdio: 'ignore' }).status === 0;
  return works ? [...setpriv, '--'] : [];
}

/**
 * The words that come before a command so that it has the limit of open files that this process was started with. Node raises its own
 * limit, which a child inherits, and a program may close all files up to it, or use `select`. The limit is the one of the process that
 * started this one, where `/proc` shows that. They start util-linux's `prlimit`, which becomes the command; none where there isn't one.
 */
export function withFileLimitOf(pid: number): readonly string[] {
  const [before, now] = [softLimitOf(pid), softLimitOf('self')];
  if (before === undefined || now === undefined || before >= now) return [];
  const words = [`--nofile=${before}:`] as const;
  return spawnSync('prlimit', [...words, 'true'], { stdio: 'ignore' }).status === 0
    ? ['prlimit', ...words]
    : [];
}

function softLimitOf(pid: number | 'self'): number | undefined {
  try {
    const [, soft] =
      /^Max open files +(\d+|unlimited)/m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1')) ?? [];
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft ?? Number.NaN) || undefined;
  } catch {
    return undefined;
  }
}
