import type { LastRun } from './firing.js';
import { type OffsetAt, pastFirings, type Schedule } from './schedule.js';

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
