import type { Journal, Micros, Setting } from '../history.js';
import type { FaultFigures, FaultPeriod } from './faults.js';
import type { Hold } from './holds.js';
import type { JournalEvents } from './journal-events.js';
import type { Violation } from './verdict.js';

/** A time in which no process acted as an election's leader, between two terms. */
export interface Gap {
  readonly journal: string;
  readonly from: Micros;
  readonly to: Micros;
}

/** A fault is near a gap if it came during the gap, or ended no longer than this before it: recovery takes that long. */
const NEAR_MICROS = 9_000_000;

/** The times between the holds of an election. The times before the first hold and after the last one are unknown. */
export function gapsOf({ name }: Journal, holds: readonly Hold[]): Gap[] {
  const gaps: Gap[] = [];
  let latest: Micros | undefined;
  for (const { from, to } of holds.filter(({ journal }) => journal === name)) {
    if (latest !== undefined && from > latest) gaps.push({ journal: name, from: latest, to: from });
    latest = Math.max(latest ?? to, to);
  }
  return gaps;
}

export function hasFaultNear({ from, to }: Gap, periods: readonly FaultPeriod[]): boolean {
  return periods.some((period) => period.from <= to && period.to + NEAR_MICROS >= from);
}

export interface Quantiles {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** In milliseconds. */
export function quantilesOf(gaps: readonly Gap[]): Quantiles {
  const sizes = gaps.map(({ from, to }) => (to - from) / 1000).sort((a, b) => a - b);
  const at = (share: number) => sizes[Math.max(0, Math.ceil(share * sizes.length) - 1)] ?? 0;
  return { count: sizes.length, p50: at(0.5), p99: at(0.99), max: sizes.at(-1) ?? 0 };
}

/**
 * How long after the beginning of each calm a process acted, at each election and lock: the longest first. This leaves out
 * calms that the history doesn't cover, and calms in which the servers were found to disagree: a contender that waits for
 * a node that only one server has waits for ever. Once that is repaired another calm begins.
 */
export function recoveriesOf(
  { journals, recoveryMs }: Setting,
  { calms, disagreements, to: end }: FaultFigures,
  holds: readonly Hold[],
  events: JournalEvents,
): { readonly recoveriesMs: readonly number[]; readonly violations: readonly Violation[] } {
  const recoveriesMs: number[] = [];
  const violations: Violation[] = [];
  for (const { name } of journals) {
    const own = holds.filter(({ journal }) => journal === name);
    for (const [place, { storm, from }] of calms.entries()) {
      const until = calms[place + 1]?.from ?? end;
      if (disagreements.some(({ at }) => at >= from && at < until)) continue;
      // A leader in the middle of its term acts at once, except for the pauses between acts.
      const next = own.find(({ to }) => to >= from);
      const ms = next === undefined ? Number.POSITIVE_INFINITY : Math.max(0, next.from - from) / 1000;
      if (ms > recoveryMs && end < from + recoveryMs * 1000) continue;
      recoveriesMs.push(ms);
      if (ms > recoveryMs)
        violations.push({
          kind: 'no leader within the bound',
          what: `${name}: not within ${recoveryMs} ms of the end of storm ${storm}, but after ${Math.round(ms)} ms; its last events: ${events.last(name, from, until)}`,
        });
    }
  }
  return { recoveriesMs: recoveriesMs.sort((a, b) => b - a), violations };
}
