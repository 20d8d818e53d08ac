import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ElectionView, TermView } from '../../../../../src/dashboard/api-types.js';
import {
  boxesOf,
  isShown,
  placeOf,
  rangeOf,
  rowsOf,
  timelineOf,
  viewBoxOf,
} from '../../../../../src/dashboard/page/model/timeline.js';
import { electionView } from '../../../../support/conclave/election-views.js';
import { anyElection } from '../arbitrary-views.js';

/** @param spans - such as `0-10 30-`: the second one lasts */
function election(spans: string, isLed: boolean): ElectionView {
  return electionView({
    ...(!isLed && { state: 'vacant', leader: null }),
    terms: spans.split(' ').map((span, term): TermView => {
      const [from, to] = span.split('-').map((at) => (at === '' ? null : Number(at)));
      return { term, id: 'x', from: from ?? 0, to: to ?? null, end: to == null ? null : 'released' };
    }),
  });
}

describe('the timeline of terms', () => {
  it('has a gap between two terms, and one that lasts while no candidate leads', () => {
    const { gaps } = timelineOf(election('0-10 30-40 40-50', false));
    expect(gaps).toEqual([
      { from: 10, to: 30 },
      { from: 50, to: null },
    ]);
    expect(timelineOf(election('0-10 30-', true)).gaps).toEqual([{ from: 10, to: 30 }]);
  });

  it('ends a term whose end was missed where the next one begins', () => {
    const { terms, gaps } = timelineOf(election('0- 30-', true));
    expect(terms.map(({ to }) => to)).toEqual([30, null]);
    expect(gaps).toEqual([]);
  });

  it('is unsure of a term that the record still has while nobody is known to lead', () => {
    const toneOf = (view: ElectionView) => timelineOf(view).terms[0]?.tone;
    expect(toneOf(election('0-', true))).toBe('now');
    expect(toneOf(election('0-', false))).toBe('unsure');
    expect(toneOf({ ...election('0-', true), state: 'taking-over' })).toBe('unsure');
  });

  it('has terms in the order of time, and no gap that ends before it begins', () => {
    fc.assert(
      fc.property(anyElection, (any) => {
        const { terms, gaps } = timelineOf(any);
        expect(new Set(terms.map(({ term }) => term))).toEqual(new Set(any.terms));
        const begun = terms.map(({ term }) => term.from);
        expect(begun).toEqual([...begun].sort((a, b) => a - b));
        for (const { from, to } of gaps) expect(to ?? Number.POSITIVE_INFINITY).toBeGreaterThan(from);
        expect(terms.filter(({ to }) => to === null).length).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('shows every gap but those that are too short to be one', () => {
    expect([0, 99, 100].map((to) => isShown({ from: 0, to }))).toEqual([false, false, true]);
    expect(isShown({ from: 0, to: null })).toBe(true);
  });

  it('lists its terms with the newest first, and the gap before each', () => {
    const rows = rowsOf(timelineOf(election('0-10 30-40', false)));
    expect(rows.map(({ span, gapBeforeMs }) => [span.term.term, gapBeforeMs])).toEqual([
      [1, 20],
      [0, null],
    ]);
  });
});

describe('the place of a term', () => {
  it('lies within what is shown, and in the order of time', () => {
    fc.assert(
      fc.property(
        anyElection,
        fc.integer({ min: 2_000_000, max: 9_000_000 }),
        fc.nat(3_000_000),
        (any, now, most) => {
          const timeline = timelineOf(any);
          const range = rangeOf(timeline, now, Math.max(1, most));
          expect(range.to - range.from).toBeLessThanOrEqual(Math.max(1, most));
          for (const { from, to } of timeline.terms) {
            const place = placeOf({ from, to: to === null ? null : Math.max(to, from) }, range);
            if (place === null) continue;
            expect(place.start).toBeGreaterThanOrEqual(0);
            expect(place.width).toBeGreaterThanOrEqual(0);
            expect(place.start + place.width).toBeLessThanOrEqual(1 + 1e-9);
          }
        },
      ),
    );
  });

  it('shows a minute at least, and begins with the oldest term', () => {
    expect(rangeOf({ terms: [], gaps: [] }, 100_000, 1e9)).toEqual({ from: 40_000, to: 100_000 });
    expect(rangeOf(timelineOf(election('1000-', true)), 100_000, 1e9).from).toBe(1_000);
    expect(rangeOf(timelineOf(election('1000-', true)), 100_000, 5_000).from).toBe(95_000);
  });

  it('is null outside, and cut off at the sides', () => {
    const range = { from: 100, to: 200 };
    expect(placeOf({ from: 0, to: 99 }, range)).toBeNull();
    expect(placeOf({ from: 201, to: 300 }, range)).toBeNull();
    expect(placeOf({ from: 50, to: null }, range)).toEqual({ start: 0, width: 1 });
    expect(placeOf({ from: 150, to: 175 }, range)).toEqual({ start: 0.5, width: 0.25 });
  });

  it('is drawn in seconds after an origin, so that only the view changes with time', () => {
    expect(boxesOf([{ from: 1_500, to: 2_500 }], 1_000)).toBe('M0.5 0H1.5V1H0.5Z');
    expect(boxesOf([{ from: 1_000, to: null }], 1_000)).toMatch(/^M0 0H100000000V1H0Z$/);
    expect(viewBoxOf({ from: 2_000, to: 62_000 }, 1_000)).toBe('1 0 60 1');
  });
});
