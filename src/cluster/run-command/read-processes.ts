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
