import { memo } from 'preact/compat';
import { useMemo, useRef } from 'preact/hooks';
import type { ElectionView } from '../../../api.js';
import { countText } from '../../model/format.js';
import {
  boxesOf,
  isShown,
  rangeOf,
  type SeatTimeline,
  timelinesOf,
  viewBoxOf,
} from '../../model/timeline.js';
import { usePage, useTicks } from '../page-context.js';

const MOST_MS = 24 * 60 * 60 * 1_000;
const MOST_SEATS = 4;

/** The terms of the last day as a small picture. As time goes on, only its view box changes. */
export const TimelineStrip = memo(({ election }: { election: ElectionView }) => {
  const { store } = usePage();
  const element = useRef<HTMLDivElement>(null);
  const timelines = useMemo(() => timelinesOf(election).slice(0, MOST_SEATS), [election]);
  const origin = election.terms[0]?.from ?? 0;
  useTicks(() => {
    const viewBox = viewBoxOf(rangeOf(timelines, store.now(), MOST_MS), origin);
    for (const svg of element.current?.children ?? []) svg.setAttribute('viewBox', viewBox);
  });
  const gaps = timelines.reduce((sum, timeline) => sum + timeline.gaps.filter(isShown).length, 0);
  const label = `${countText(election.terms.length, 'term')}, ${countText(gaps, 'gap')}`;
  return (
    <div class="strip" role="img" aria-label={label} ref={element}>
      {timelines.map((timeline) => (
        <SeatStrip key={timeline.seat} timeline={timeline} origin={origin} />
      ))}
    </div>
  );
});

function SeatStrip({ timeline: { terms, gaps }, origin }: { timeline: SeatTimeline; origin: number }) {
  const boxes = (tone: 0 | 1) =>
    boxesOf(
      terms.filter((span) => span.tone === tone && !span.isUnsure && span.to !== null).map(spanOf),
      origin,
    );
  const lasting = terms.filter(({ to, isUnsure }) => to === null && !isUnsure);
  const unsure = terms.filter(({ isUnsure }) => isUnsure);
  return (
    <svg preserveAspectRatio="none" viewBox="0 0 1 1" aria-hidden="true">
      <path class="term even" d={boxes(0)} />
      <path class="term odd" d={boxes(1)} />
      <path class="term now" d={boxesOf(lasting.map(spanOf), origin)} />
      <path class="term unsure" d={boxesOf(unsure.map(spanOf), origin)} />
      <path class="gap" d={boxesOf(gaps.filter(isShown), origin)} vector-effect="non-scaling-stroke" />
    </svg>
  );
}

function spanOf({ term, to }: SeatTimeline['terms'][number]) {
  return { from: term.from, to };
}
