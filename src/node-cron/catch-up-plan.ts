import type { LastRun } from './firing.js';
import { type OffsetAt, pastFirings, type Schedule } from './schedule.js';

/** What is done about firings of a task that no process has run. */
export interface CatchUpPolicy {
  readonly missed: 'once' | 'all';
  readonly windowMs: number;
  readonly maxRuns: number;
}

/** What is to be caught up. */
export interface CatchUpPlan {
  /** The firings to run, in their order. */
  readonly toRun: readonly number[];
  /** Firings that are too many, or too long ago: none of those later than `after`, up to `upTo`, is run. */
  readonly dropped?: { readonly after: number; readonly upTo: number };
}

const NOTHING: CatchUpPlan = { toRun: [] };
/** How far beyond the window it is looked whether there are firings to report as dropped. */
const FARTHEST_MS = 366 * 24 * 3600 * 1000;

/**
 * Which of the firings since the last run are to be run now. Yields now and then, so that the caller can let other work run.
 *
 * @param last - the last firing that was run, by any process
 * @param upTo - node-cron has come so far in this process; it sees to later firings itself
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
