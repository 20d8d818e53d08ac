import { InvalidOptionError } from '../errors.js';
import { checkUtf8 } from '../platform/checks.js';
import { parseJsonObject } from '../platform/json.js';
import { dateAt } from '../platform/time/timers.js';

/** One firing of a task: the parts of node-cron's key for it. */
export interface Firing {
  readonly task: string;
  /** The time for which it was scheduled, in milliseconds since 1970. */
  readonly at: number;
}

/** The last firing of a task that a process has run, as the run log in ZooKeeper has it. */
export interface LastRun {
  readonly at: number;
  /** A unique id of this run. */
  readonly id: string;
  /** The task's expression at that time, if the coordinator knew it. */
  readonly expression?: string;
}

// `<name>:<ISO time>`; a name may also contain colons.
const KEY = /^(.+):([+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/s;

/** @throws InvalidOptionError if `key` isn't in node-cron's format */
export function parseKey(key: string): Firing {
  const [, task, time] = KEY.exec(key) ?? [];
  const at = Date.parse(time ?? '');
  if (task === undefined || Number.isNaN(at))
    throw new InvalidOptionError('key', key, 'a task name, a colon and a time');
  return { task, at };
}

export function keyOf({ task, at }: Firing): string {
  return `${task}:${dateAt(at).toISOString()}`;
}

// The clocks of well-kept servers never differ by more than this, and a task can do without its job for so long.
const MOST_SKEW_MS = 60_000;

/**
 * Whether a firing must still run. Firings run in order, so that a host with a slow clock doesn't run a firing again. If the
 * last run is far in the future, a host with a wrong clock has written it. It must not keep the task from running until then.
 */
export function isDue({ at }: Firing, last?: LastRun): 'due' | 'done' | 'due, against a wrong clock' {
  if (last === undefined || at > last.at) return 'due';
  return last.at - at > MOST_SKEW_MS ? 'due, against a wrong clock' : 'done';
}

/** The name of the node that holds a task's last run. @throws InvalidOptionError for a name without a UTF-8 form */
export function nodeNameOf(task: string): string {
  return encodeURIComponent(checkUtf8('task', task)).replaceAll('.', '%2E');
}

export function serializeLastRun({ at, id, expression }: LastRun, token: bigint): Buffer {
  return Buffer.from(JSON.stringify({ at, note: id, token: String(token), expression }));
}

/** Unreadable data count as no run, because any client may have written them. */
export function parseLastRun(data: Buffer): LastRun | undefined {
  const { at, note: id, expression } = parseJsonObject(data) ?? {};
  if (typeof at !== 'number' || typeof id !== 'string') return undefined;
  return typeof expression === 'string' ? { at, id, expression } : { at, id };
}
