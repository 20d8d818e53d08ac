import type { ElectionView, TermView } from '../../api-types.js';

/** The timeline draws only gaps of at least this length: a handover takes about a millisecond. The table has every gap. */
export const SHOWN_GAP_MS = 100;

export interface TermSpan {
  readonly term: TermView;
  /** The term's end; `null` while it lasts. */
  readonly to: number | null;
  /** The leader may be gone although the record still names it. */
  readonly isUnsure: boolean;
  /** Alternates from term to term, so that readers can tell neighboring terms apart. */
  readonly tone: 0 | 1;
}

/** A time without a leader. */
export interface Gap {
  readonly from: number;
  /** The next term's beginning; `null` while there is no leader. */
  readonly to: number | null;
}

export interface Timeline {
  /** The oldest first. */
  readonly terms: readonly TermSpan[];
  readonly gaps: readonly Gap[];
}

/** Who led when, and when no candidate did; the oldest first. */
export function timelineOf(election: ElectionView): Timeline {
  const known = [...election.terms].sort((a, b) => a.from - b.from || a.term - b.term);
  const isLed = election.leader !== null;
  const terms = known.map((term, index): TermSpan => {
    const isLast = index === known.length - 1;
    // The dashboard may have missed a term's end. Then the term lasted until the next one at most.
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
  return { terms, gaps };
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

/** From the oldest known term until now, but no further back than `mostMs`. */
export function rangeOf({ terms }: Timeline, now: number, mostMs: number): Range {
  const oldest = Math.min(now, terms[0]?.term.from ?? now);
  return { from: Math.max(Math.min(oldest, now - LEAST_RANGE_MS), now - mostMs), to: now };
}

/** The place of a time span in a range, as fractions of the range's length; `null` if it is outside. */
export function placeOf(
  { from, to }: { readonly from: number; readonly to: number | null },
  range: Range,
): { readonly start: number; readonly width: number } | null {
  const length = range.to - range.from;
  const start = Math.max(0, (from - range.from) / length);
  const end = Math.min(1, ((to ?? range.to) - range.from) / length);
  return end < 0 || start > 1 || end < start ? null : { start, width: end - start };
}

/**
 * The end of a span that still lasts, in seconds: longer than any page is open. So the drawing stays the same as time goes on,
 * and only its view box changes.
 */
const LASTS_S = 1e8;

/** The data of an SVG path with a box for each span: horizontally in seconds after `origin`, one unit high. */
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

/** The terms as rows, the newest first. Each has the time without a leader before it, or `null` if that is unknown. */
export function rowsOf({ terms }: Timeline): { span: TermSpan; gapBeforeMs: number | null }[] {
  return terms
    .map((span, index) => {
      const end = terms[index - 1]?.to ?? null;
      return { span, gapBeforeMs: end === null ? null : Math.max(0, span.term.from - end) };
    })
    .reverse();
}
