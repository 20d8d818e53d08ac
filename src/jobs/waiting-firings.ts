import { dateAt } from '../platform/time/timers.js';
import { type Due, isDue, type LastRun, MOST_SKEW_MS } from './last-run.js';

/**
 * A firing that waits to be run. `live`: it came while this process led. `remembered`: it came before, or the term ended before its run.
 * `missed`: found by the schedule. `cut off`: the run of an earlier leader that didn't end.
 */
export interface WaitingFiring {
  readonly at: number;
  readonly kind: 'live' | 'remembered' | 'missed' | 'cut off';
  /** Of a run that was cut off: how often it was begun, the next time included. */
  readonly attempts?: number;
}

/** How to treat late firings: see the option `missed` of a job. */
export type Missed = 'once' | 'all';

/** How many firings wait at most; more would fill the memory of a replica that isn't elected for long. */
export const MOST_WAITING = 1000;
/** A firing's name is up to a second earlier than the call, and a timer may be late by a second. */
const TIMERS_MS = 2000;

/** Periods up to twice this are shorter than two whole seconds may be apart. */
const BELOW_SECONDS_MS = 500;

/**
 * The name of a firing whose time the scheduler doesn't tell, by the time of the call: rounded down to the second, so that the calls of two
 * processes have the same name. Unless the period is a second or less: then several calls come in a second, and `atLeastMs` tells them apart.
 */
export function nameOfCall(now: number, atLeastMs: number): number {
  return atLeastMs > 0 && atLeastMs <= BELOW_SECONDS_MS ? now : toSecond(now);
}

/** Schedulers fire on whole seconds. node-cron 3 tells the time of its call. */
export function toSecond(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}

/** Whether a time that a scheduler told can't be that of a firing that calls now. node-cron 3 shifts it by the zone. */
export function isFar(at: number, now: number, lateMs: number): boolean {
  return Math.abs(at - now) > Math.max(MOST_SKEW_MS, lateMs);
}

/** Which of two of the same firing waits: a call gets the result of its run. */
const RANK = { remembered: 0, missed: 0, live: 1, 'cut off': 2 };

/** The firings that go on waiting when one more has come, in their order, and those that don't. */
export function withFiring<F extends WaitingFiring>(
  waiting: readonly F[],
  firing: F,
  missed: Missed,
): { readonly kept: readonly F[]; readonly left: readonly F[] } {
  const same = waiting.find(({ at }) => at === firing.at);
  if (same !== undefined && RANK[same.kind] >= RANK[firing.kind]) return { kept: waiting, left: [firing] };
  const others = waiting.filter((each) => each !== same);
  const all = [...others, firing].sort((one, other) => one.at - other.at);
  // A run that was cut off isn't a late firing: it was begun.
  const late = all.filter(({ kind }) => kind !== 'cut off');
  const left = late.slice(0, Math.max(0, late.length - (missed === 'once' ? 1 : MOST_WAITING)));
  return {
    kept: all.filter((each) => !left.includes(each)),
    left: same === undefined ? left : [same, ...left],
  };
}

/** Whether a waiting firing must run now, after the last run that the leader knows. */
export function isDueNow(
  firing: WaitingFiring,
  last: LastRun | undefined,
  now: number,
  { lateMs, atLeastMs }: { readonly lateMs: number; readonly atLeastMs: number },
): Due | 'too late' {
  if (firing.kind === 'cut off') return last?.at === firing.at && last.open ? 'due' : 'done';
  const due = isDue(firing.at, last, now, atLeastMs);
  const isTooLate = now - firing.at > lateMs + (firing.kind === 'live' ? TIMERS_MS : 0);
  return due !== 'done' && isTooLate ? 'too late' : due;
}

/**
 * Yields the schedule's firings later than `after`, up to and including `upTo`, in their order.
 * @throws what `next` throws, and TypeError if that isn't a later time
 */
export function* firingsBetween(
  next: (after: Date) => Date | null | undefined,
  after: number,
  upTo: number,
): Generator<number, void> {
  for (let at = after; ; ) {
    const date = next(dateAt(at));
    if (date === null || date === undefined) return;
    const found = date.getTime();
    if (!(found > at)) throw new TypeError(`next(${at}) gave ${found}, which isn't later`);
    if (found > upTo) return;
    at = found;
    yield at;
  }
}
