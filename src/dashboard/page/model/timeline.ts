import type { ElectionView, TermView } from '../../api.js';

/** A gap below this isn't drawn: between a release and the next term lies a millisecond. The table has every gap. */
export const SHOWN_GAP_MS = 100;

export interface TermSpan {
  readonly term: TermView;
  /** `null`: it lasts. */
  readonly to: number | null;
  /** Its leader may be gone: the record still names it. */
  readonly isUnsure: boolean;
  /** Changes from one term to the next, so that two terms beside each other can be told apart. */
  readonly tone: 0 | 1;
}

/** A time without a leader. */
export interface Gap {
  readonly from: number;
  /** `null`: there is still none. */
  readonly to: number | null;
}

export interface SeatTimeline {
  readonly seat: number;
  /** The oldest first. */
  readonly terms: readonly TermSpan[];
  readonly gaps: readonly Gap[];
}

/** Who led a seat when, and when no candidate did; the oldest first. */
export function timelineOf(election: ElectionView, seat: number): SeatTimeline {
  const known = election.terms
    .filter((term) => term.seat === seat)
    .sort((a, b) => a.from - b.from || a.term - b.term);
  const isLed = (election.leaders[seat] ?? null) !== null;
  const terms = known.map((term, index): TermSpan => {
    const isLast = index === known.length - 1;
    // The end of a term that another one follows may have been missed.
    const to = term.to ?? (isLast ? null : (known[index + 1] as TermView).from);
    const isUnsure = to === null && (!isLed || election.state === 'taking-over');
    return { term, to, isUnsure, tone: index % 2 === 0 ? 0 : 1 };
  });
  const gaps = terms.flatMap(({ to }, index): Gap[] => {
    if (to === null) return [];
    const next = terms[index + 1];
    if (next !== undefined) return next.term.from > to ? [{ from: to, to: next.term.from }] : [];
    return isLed ? [] : [{ from: to, to: null }];
  });
  return { seat, terms, gaps };
}

export function timelinesOf(election: ElectionView): SeatTimeline[] {
  return Array.from({ length: Math.max(1, election.seats) }, (_, seat) => timelineOf(election, seat));
}

export function isShown({ from, to }: Gap): boolean {
  return to === null || to - from >= SHOWN_GAP_MS;
}

/** The times that a timeline shows. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

const LEAST_RANGE_MS = 60_000;

/** From the oldest term that is known, but no further back than `mostMs`, until now. */
export function rangeOf(timelines: readonly SeatTimeline[], now: number, mostMs: number): Range {
  const oldest = Math.min(
    now,
    ...timelines.flatMap(({ terms }) => terms.slice(0, 1).map((t) => t.term.from)),
  );
  return { from: Math.max(Math.min(oldest, now - LEAST_RANGE_MS), now - mostMs), to: now };
}

/** Where something lies in a range, in parts of one; `null` if outside. */
export function placeOf(
  { from, to }: { readonly from: number; readonly to: number | null },
  range: Range,
): { readonly start: number; readonly width: number } | null {
  const length = range.to - range.from;
  const start = Math.max(0, (from - range.from) / length);
  const end = Math.min(1, ((to ?? range.to) - range.from) / length);
  return end < 0 || start > 1 || end < start ? null : { start, width: end - start };
}

/** Longer than any page is open: the end of what lasts, so that only the view of a drawing changes with time. */
const LASTS_S = 1e8;

/** The data of an SVG path with a box for each, in seconds after `origin`, one unit high. */
export function boxesOf(spans: readonly { from: number; to: number | null }[], origin: number): string {
  return spans
    .map(({ from, to }) => {
      const start = seconds(from - origin);
      return `M${start} 0H${to === null ? LASTS_S : seconds(to - origin)}V1H${start}Z`;
    })
    .join('');
}

export function viewBoxOf({ from, to }: Range, origin: number): string {
  return `${seconds(from - origin)} 0 ${seconds(to - from)} 1`;
}

function seconds(ms: number): number {
  return Math.round(ms) / 1_000;
}

/** The terms as rows, the newest first, each with the time without a leader before it: `null` if that isn't known. */
export function rowsOf({ terms }: SeatTimeline): { span: TermSpan; gapBeforeMs: number | null }[] {
  return terms
    .map((span, index) => {
      const end = terms[index - 1]?.to ?? null;
      return { span, gapBeforeMs: end === null ? null : Math.max(0, span.term.from - end) };
    })
    .reverse();
}
