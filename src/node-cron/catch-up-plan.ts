import { InvalidOptionError } from '../errors.js';
import { checkFunction, checkOneOf, checkOptions, checkWhole } from '../platform/checks.js';
import type { LastRun } from './firing.js';
import { type OffsetAt, offsetsOf, pastFirings, type Schedule } from './schedule.js';

/** Firings of a task that no process has run: see {@link CatchUpOptions.onMissed}. */
export interface MissedFirings {
  /** The task's name. */
  readonly task: string;
  /** The firings that this process runs now, in their order: one at most with `missed: 'once'`. */
  readonly toRun: readonly Date[];
  /**
   * Set if there are more missed firings than `toRun` has. No process will run firings later than `after`, up to and including
   * `upTo`: they are outside of the window, or more than `maxRuns`.
   */
  readonly dropped?: { readonly after: Date; readonly upTo: Date };
}

/** Options of {@link LeaderRunCoordinator.catchUp}. */
export interface CatchUpOptions {
  /**
   * How to treat firings that no process has run, because there was no leader or no process at all. `skip` runs none of
   * them, `once` runs the job once, for the latest one, and `all` runs it for each, in their order. @default 'skip'
   */
  readonly missed?: 'skip' | 'once' | 'all';
  /** How old a missed firing may be to be run, in milliseconds; at most 366 days. @default 86400000, a day */
  readonly missedWindowMs?: number;
  /** How many firings `all` runs after one interruption, from 1 to 10000. It runs the latest ones. @default 1000 */
  readonly maxRuns?: number;
  /**
   * The time zone that you gave to node-cron for the task. At the end of summer time an hour of local time comes twice, and the
   * time zone says which of the two counts. @default the machine's time zone, as with node-cron
   */
  readonly timezone?: string;
  /** Called before missed firings are run or dropped. If it throws, the coordinator logs the error. */
  readonly onMissed?: (missed: MissedFirings) => void;
}

/** The checked options. With `missed: 'skip'` there is no `policy`, because nothing is caught up. */
export interface ResolvedCatchUp {
  readonly policy: CatchUpPolicy | undefined;
  readonly offsetAt: OffsetAt;
  readonly onMissed: ((missed: MissedFirings) => void) | undefined;
}

const DAY_MS = 24 * 3600 * 1000;
const MOST_DAYS = 366;
const MOST_RUNS = 10_000;

/** @throws InvalidOptionError if an option is wrong */
export function resolveCatchUp(options: CatchUpOptions | undefined): ResolvedCatchUp {
  const given = checkOptions<CatchUpOptions>('catchUp', options, [
    'missed',
    'missedWindowMs',
    'maxRuns',
    'timezone',
    'onMissed',
  ]);
  const missed = checkOneOf('missed', given.missed, ['skip', 'once', 'all'], 'skip');
  const windowMs = checkWindow(given.missedWindowMs);
  const maxRuns = given.maxRuns === undefined ? 1000 : checkWhole('maxRuns', given.maxRuns, 1, MOST_RUNS);
  const offsetAt = offsetsOf(given.timezone);
  const onMissed = checkFunction('onMissed', given.onMissed);
  return { policy: missed === 'skip' ? undefined : { missed, windowMs, maxRuns }, offsetAt, onMissed };
}

function checkWindow(value: unknown): number {
  if (value === undefined) return DAY_MS;
  if (typeof value === 'number' && value > 0 && value <= MOST_DAYS * DAY_MS) return value;
  throw new InvalidOptionError(
    'missedWindowMs',
    value,
    `a number of milliseconds over 0, up to ${MOST_DAYS} days`,
  );
}

/** How to treat firings of a task that no process has run. */
export interface CatchUpPolicy {
  readonly missed: 'once' | 'all';
  readonly windowMs: number;
  readonly maxRuns: number;
}

/** The firings to catch up. */
export interface CatchUpPlan {
  /** The firings to run, in their order. */
  readonly toRun: readonly number[];
  /** Set if some firings are too many or too old. Firings later than `after`, up to `upTo`, won't be run. */
  readonly dropped?: { readonly after: number; readonly upTo: number };
}

const NOTHING: CatchUpPlan = { toRun: [] };
/** How far before the window the plan still looks for firings, to report them as dropped. */
const FARTHEST_MS = 366 * 24 * 3600 * 1000;

/**
 * Plans which of the firings since the last run to run now. Yields now and then, so that the caller can let other work run.
 *
 * @param last - the last firing that any process has run
 * @param upTo - the last firing that node-cron has come to in this process. It handles later firings itself.
 * @param now - the time of day
 */
export function* planCatchUp(
  schedule: Schedule,
  { at: last }: LastRun,
  upTo: number,
  now: number,
  { missed, windowMs, maxRuns }: CatchUpPolicy,
  offsetAt: OffsetAt,
): Generator<void, CatchUpPlan> {
  const begin = now - windowMs;
  const after = Math.max(last, begin - FARTHEST_MS);
  if (after >= upTo) return NOTHING;
  const toRun: number[] = [];
  for (const at of pastFirings(schedule, { after, upTo }, offsetAt)) {
    if (at === undefined) yield;
    else if (at < begin || toRun.length === maxRuns)
      return { toRun: toRun.reverse(), dropped: { after: last, upTo: at } };
    else {
      toRun.push(at);
      if (missed === 'once') break;
    }
  }
  return { toRun: toRun.reverse() };
}
