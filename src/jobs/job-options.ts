import { isDate } from 'node:util/types';
import { InvalidOptionError } from '../errors.js';
import {
  type Checked,
  type ChecksOf,
  checkBoolean,
  checkFunction,
  checkMs,
  checkOneOf,
  checkPositiveMs,
  readOptions,
} from '../platform/checks.js';
import type { Missed } from './waiting-firings.js';

/** Options of {@link LeaderJobs.job}. Give each replica the same ones. */
export interface JobOptions {
  /**
   * The time for which a call fires, from the arguments that the scheduler gives. It is the firing's name in the run log, so it must be the
   * same in each replica.
   *
   * @default the first argument if it is a `Date`, as with node-schedule; else its `date`, as with node-cron 4; else the time of the call by
   *   this host's clock, as fits croner, cron, toad-scheduler and @nestjs/schedule. It is rounded down to the second, except the time of a call
   *   with an `atLeastMs` of 500 or less. A time that is further from now than a minute and `lateMs` isn't a firing's: the log has an error
   */
  scheduledFor?(...args: unknown[]): Date;
  /**
   * A firing nearer than this to the last run is the same firing, in milliseconds. Give half the shortest period if the scheduler
   * doesn't fire on whole seconds, as timers that repeat. @default 0
   */
  readonly atLeastMs?: number;
  /**
   * How late a firing may begin, in milliseconds; at most 366 days. With 0 a late firing doesn't run. A timer that fires up to a second
   * late in the leader doesn't make a firing late.
   * @default 10000, or twice the time that a takeover takes, if that is longer: `leaseMs` and 3 %, or `takeoverDelayMs`
   */
  readonly lateMs?: number;
  /**
   * Which late firings run, if there are several: the latest one (`once`), or all in their order, the latest 1000. @default 'once'
   */
  readonly missed?: 'once' | 'all';
  /**
   * Whether the next leader repeats a run that was cut off, because its leader died, or because the job rejected after its signal had
   * aborted. `lateMs` doesn't apply to such a run. If three processes in a row have ended during the run, it isn't repeated, and the log has
   * an error. A job that can't be repeated must not have it. @default false
   */
  readonly recover?: boolean;
  /**
   * The schedule's first firing later than `after`. With it a new leader also finds firings of times when no replica ran, later than the
   * last run, or than the first election with the job if it has never run. `null` or `undefined`: there is none.
   *
   * @example
   * ```ts
   * next: (after) => cron.nextRun(after), // croner
   * ```
   */
  next?(after: Date): Date | null | undefined;
  /**
   * How long a run may take, in milliseconds. Then its signal aborts, with a `TimeoutError`, and the log has an error. The next firing still
   * waits until the job has settled. @default no limit
   */
  readonly maxRunMs?: number;
}

const MOST_DAYS = 366;
const DAY_MS = 24 * 3600 * 1000;

const CHECKS = {
  scheduledFor: checkFunction<NonNullable<JobOptions['scheduledFor']>>,
  atLeastMs: (name, value) => checkMs(name, value) ?? 0,
  lateMs: checkLateMs, // `undefined`: by the time that a takeover takes.
  missed: (name, value) => checkOneOf<Missed>(name, value, ['once', 'all'], 'once'),
  recover: (name, value) => checkBoolean(name, value, false),
  next: checkFunction<NonNullable<JobOptions['next']>>,
  maxRunMs: (name, value) => checkPositiveMs(name, value, Number.POSITIVE_INFINITY),
} satisfies ChecksOf<JobOptions>;

/** @internal */
export type ResolvedJobOptions = Checked<typeof CHECKS>;

/** @throws InvalidOptionError if an option is wrong */
export function resolveJobOptions(options: JobOptions | undefined): ResolvedJobOptions {
  return readOptions('job', options, CHECKS);
}

function checkLateMs(name: string, value: unknown): number | undefined {
  const lateMs = checkMs(name, value);
  if (lateMs !== undefined && lateMs > MOST_DAYS * DAY_MS)
    throw new InvalidOptionError(name, lateMs, `a number of milliseconds, at most ${MOST_DAYS} days`);
  return lateMs;
}

/** The time that a scheduler has given to its function: node-schedule as the first argument, node-cron as its `date`. */
export function timeIn([first]: readonly unknown[]): Date | undefined {
  if (isDate(first)) return first;
  if (typeof first !== 'object' || first === null || !('date' in first)) return undefined;
  return isDate(first.date) ? first.date : undefined;
}
