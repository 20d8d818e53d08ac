import type { ElectionView, TermView } from '../../api-types.js';

/** The timeline draws only gaps of at least this length: a handover takes about a millisecond. The table has every gap. */
const SHOWN_GAP_MS = 100;

/** A time; `to` is `null` while it lasts. */
export interface Span {
  readonly from: number;
  readonly to: number | null;
}

/** Ended terms are `even` and `odd` in turn, so that readers can tell neighboring terms apart. */
export const TERM_TONES = ['even', 'odd', 'now', 'unsure'] as const;

export interface TermSpan extends Span {
  readonly term: TermView;
  /** `now`: the leader leads. `unsure`: the leader may be gone although the record still names it. */
  readonly tone: (typeof TERM_TONES)[number];
}

export interface Timeline {
  /** The oldest first. */
  readonly terms: readonly TermSpan[];
  /** The times without a leader. */
  readonly gaps: readonly Span[];
}

/** Who led when, and when no candidate did; the oldest first. */
export function timelineOf(election: ElectionView): Timeline {
  const known = [...election.terms].sort((a, b) => a.from - b.from || a.term - b.term);
  const isLed = election.leader !== null;
  const terms = known.map((term, index): TermSpan => {
    // The dashboard may have missed a term's end. Then the term lasted until the next one at most.
    const to = term.to ?? known[index + 1]?.from ?? null;
    const ended = index % 2 === 0 ? 'even' : 'odd';
    const lasting = isLed && election.state !== 'taking-over' ? 'now' : 'unsure';
    return { term, from: term.from, to, tone: to === null ? lasting : ended };
  });
  const gaps = terms.flatMap(({ to }, index): Span[] => {
    if (to === null) return [];
    const next = terms[index + 1];
    if (next !== undefined) return next.from > to ? [{ from: to, to: next.from }] : [];
    return isLed ? [] : [{ from: to, to: null }];
  });
  return { terms, gaps };
}

export function isShown({ from, to }: Span): boolean {
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
  const oldest = Math.min(now, terms[0]?.from ?? now);
  return { from: Math.max(Math.min(oldest, now - LEAST_RANGE_MS), now - mostMs), to: now };
}

/** The place of a time span in a range, as fractions of the range's length; `null` if it is outside. */
export function placeOf(
  { from, to }: Span,
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
export function boxesOf(spans: readonly Span[], origin: number): string {
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
      return { span, gapBeforeMs: end === null ? null : Math.max(0, span.from - end) };
    })
    .reverse();
}
