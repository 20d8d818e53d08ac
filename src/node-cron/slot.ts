import { InvalidOptionError } from '../errors.js';
import { parseJsonObject } from '../platform/json.js';

/** One firing of a task: node-cron's key for it, taken apart. */
export interface Slot {
  /** The task's name. */
  readonly task: string;
  /** The time for which it was scheduled, in milliseconds since 1970. */
  readonly at: number;
}

/** The firing of a task that was run last, as it is noted in ZooKeeper. */
export interface LastRun {
  readonly at: number;
  /** What tells this note from any other. */
  readonly note: string;
}

// `<name>:<ISO time>`; a name may have colons of its own.
const KEY = /^(.+):([+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/s;

/** @throws InvalidOptionError if it isn't a key as node-cron makes them */
export function parseKey(key: string): Slot {
  const [, task, time] = KEY.exec(key) ?? [];
  const at = Date.parse(time ?? '');
  if (task === undefined || Number.isNaN(at))
    throw new InvalidOptionError('key', key, 'a task name, a colon and a time');
  return { task, at };
}

export function keyOf(task: string, date: Date): string {
  return `${task}:${date.toISOString()}`;
}

// More than clocks of servers ever differ that are looked after, and less than anybody wants to be without a job.
const MOST_SKEW_MS = 60_000;

/**
 * Whether a slot is still to be run, given the one that was run last.
 *
 * Slots are run in their order, so that one whose turn has come on a host with a slow clock isn't run again there. A last
 * run that is far ahead was noted by a host whose clock is wrong: it must not keep the task from running until then.
 */
export function isDue(
  { at }: Slot,
  last: LastRun | undefined,
): 'due' | 'done' | 'due, against a wrong clock' {
  if (last === undefined || at > last.at) return 'due';
  return last.at - at > MOST_SKEW_MS ? 'due, against a wrong clock' : 'done';
}

/** The name of the node that a task's last run is noted on. */
export function nodeNameOf(task: string): string {
  return encodeURIComponent(task).replaceAll('.', '%2E');
}

export function serializeLastRun({ at, note }: LastRun, token: bigint): Buffer {
  return Buffer.from(JSON.stringify({ at, note, token: String(token) }));
}

/** What can't be read says nothing of any run: anybody may have written it. */
export function parseLastRun(data: Buffer): LastRun | undefined {
  const { at, note } = parseJsonObject(data) ?? {};
  return typeof at === 'number' && typeof note === 'string' ? { at, note } : undefined;
}
