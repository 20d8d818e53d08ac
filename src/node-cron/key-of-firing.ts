import { InvalidOptionError } from '../errors.js';
import type { Firing } from '../jobs/firing.js';
import { dateAt } from '../platform/time/timers.js';

// `<name>:<ISO time>`; a name may also contain colons.
const KEY = /^(.+):([+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/s;

/** @throws InvalidOptionError if `key` isn't in node-cron's format */
export function parseKey(key: string): Firing {
  const [, job, time] = KEY.exec(key) ?? [];
  const at = Date.parse(time ?? '');
  if (job === undefined || Number.isNaN(at))
    throw new InvalidOptionError('key', key, 'a task name, a colon and a time');
  return { job, at };
}

export function keyOf({ job, at }: Firing): string {
  return `${job}:${dateAt(at).toISOString()}`;
}
