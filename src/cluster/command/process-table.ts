import { readdirSync, readFileSync } from 'node:fs';

/** What Linux tells of a process in `/proc/<pid>/stat`. */
export interface ProcessEntry {
  readonly pid: number;
  /** Whether all of it has ended, and only its parent hasn't taken note. */
  readonly isDead: boolean;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** When it was started, in ticks since the machine was: with its number, what no other process ever has. */
  readonly startedAt: number;
}

const FIELDS = { state: 0, parent: 1, group: 2, session: 3, threads: 17, startedAt: 19 } as const;

/** @param stat - the file's content: the process id, the program's name in parentheses, and the fields */
export function parseStat(stat: string): ProcessEntry | undefined {
  // The name may have spaces and parentheses in it, and stands before the last one that closes.
  const afterName = stat.lastIndexOf(')');
  const fields = stat.slice(afterName + 2).split(' ');
  const number = (field: keyof typeof FIELDS) => Number(fields[FIELDS[field]]);
  const entry = {
    pid: Number.parseInt(stat, 10),
    // Of a process whose first thread has ended before the others it says Z too.
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

/** `undefined` if there is no such process, or this system doesn't tell. */
export function readProcess(pid: number | string): ProcessEntry | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return undefined;
  }
}

/** All processes that this one may see; none where the system doesn't tell. */
export function readProcesses(): ProcessEntry[] {
  try {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.map(readProcess).filter((entry) => entry !== undefined);
  } catch {
    return [];
  }
}

/** Whether a process was given an environment variable when it was started; `false` if the system doesn't tell. */
export function hasVariable({ pid }: ProcessEntry, name: string, value: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`${name}=${value}`);
  } catch {
    return false;
  }
}
