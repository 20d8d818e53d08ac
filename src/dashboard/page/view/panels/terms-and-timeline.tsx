import { useState } from 'preact/hooks';
import type { ElectionView } from '../../../api-types.js';
import { durationText, END_TEXT, timeText } from '../../model/display-text.js';
import {
  isShown,
  placeOf,
  type Range,
  rangeOf,
  rowsOf,
  type Timeline,
  timelineOf,
} from '../../model/timeline.js';
import { useChanges, usePage } from '../page-context.js';
import { Foreign } from '../parts/untrusted-text.js';

/** The terms of an election as a picture and in words. */
export function TermsAndTimeline({ election }: { election: ElectionView }) {
  const { store, ticks } = usePage();
  useChanges(ticks);
  if (election.terms.length === 0) return <p class="quiet">No term has been seen yet.</p>;
  const timeline = timelineOf(election);
  const now = store.now();
  return (
    <>
      <TimelineChart timeline={timeline} now={now} />
      <TermsTable timeline={timeline} now={now} />
    </>
  );
}

interface TimelineProps {
  readonly timeline: Timeline;
  readonly now: number;
}

const COLUMNS = ['Term', 'Leader', 'From', 'Lasted', 'End', 'Gap before'];

function TermsTable({ timeline, now }: TimelineProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: readers must be able to scroll it with keys.
    <section class="scroll" tabIndex={0} aria-label="Terms">
      <table>
        <thead>
          <tr>
            {COLUMNS.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rowsOf(timeline).map(({ span: { term, to }, gapBeforeMs }) => (
            <tr key={`${term.term} ${term.from}`}>
              <td class="number">{term.term}</td>
              <td class="who">{term.id === null ? 'unknown' : <Foreign text={term.id} />}</td>
              <td class="number">{timeText(term.from, now)}</td>
              <td class="number">{durationText((to ?? now) - term.from)}</td>
              <td>{term.end === null ? (to === null ? 'lasts' : 'not seen') : END_TEXT[term.end]}</td>
              <td class="number" data-gap={gapBeforeMs !== null && isShown({ from: 0, to: gapBeforeMs })}>
                {gapBeforeMs === null ? '' : durationText(gapBeforeMs)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const MINUTE = 60_000;
const RANGES = [
  ['15 min', 15 * MINUTE],
  ['1 h', 60 * MINUTE],
  ['6 h', 6 * 60 * MINUTE],
  ['24 h', 24 * 60 * MINUTE],
  ['all', Number.POSITIVE_INFINITY],
] as const;
/** A span narrower than this fraction of the width shows no name, because a reader couldn't read it. */
const LEAST_FOR_NAME = 0.06;

/** The terms as a picture. The table below has the same in words, for keyboards and screen readers. */
function TimelineChart({ timeline, now }: TimelineProps) {
  const [mostMs, setMost] = useState<number>(Number.POSITIVE_INFINITY);
  const range = rangeOf(timeline, now, mostMs);
  return (
    <div class="chart">
      <fieldset class="ranges">
        <legend>Shown</legend>
        {RANGES.map(([name, ms]) => (
          <label key={name}>
            <input type="radio" name="range" checked={mostMs === ms} onChange={() => setMost(ms)} />
            <span>{name}</span>
          </label>
        ))}
      </fieldset>
      <div aria-hidden="true">
        <Lane timeline={timeline} range={range} now={now} />
        <div class="axis quiet">
          <span>{timeText(range.from, now)}</span>
          <span>{timeText((range.from + range.to) / 2, now)}</span>
          <span>now</span>
        </div>
      </div>
    </div>
  );
}

function Lane({ timeline, range, now }: TimelineProps & { range: Range }) {
  return (
    <div class="lane">
      {timeline.terms.map((span) => {
        const { term, to, tone } = span;
        const place = placeOf(span, range);
        if (place === null) return null;
        const end = term.end === null ? 'lasts' : END_TEXT[term.end];
        const title = `term ${term.term}: ${durationText((to ?? now) - term.from)}, ${end}`;
        return (
          <div key={`${term.term} ${term.from}`} class={`span ${tone}`} style={styleOf(place)} title={title}>
            {place.width > LEAST_FOR_NAME && (term.id === null ? 'unknown' : <Foreign text={term.id} />)}
          </div>
        );
      })}
      {timeline.gaps.filter(isShown).map((gap) => {
        const place = placeOf(gap, range);
        if (place === null) return null;
        const title = `no leader for ${durationText((gap.to ?? now) - gap.from)}`;
        return <div key={gap.from} class="span hole" style={styleOf(place)} title={title} />;
      })}
    </div>
  );
}

function styleOf({ start, width }: { start: number; width: number }) {
  return { left: `${(start * 100).toFixed(3)}%`, width: `${(width * 100).toFixed(3)}%` };
}
