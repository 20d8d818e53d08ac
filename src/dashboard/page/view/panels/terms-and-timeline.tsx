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
import { usePage, useSecond } from '../page-context.js';
import { Foreign } from '../parts/untrusted-text.js';

/** The terms in words. Each row has the leader, the term's beginning, length and end, and the time without a leader before it. */
export function TermsTable({ election }: { election: ElectionView }) {
  const { store } = usePage();
  useSecond();
  if (election.terms.length === 0) return null;
  const now = store.now();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: readers must be able to scroll it with keys.
    <section class="scroll" tabIndex={0} aria-label="Terms">
      <table>
        <thead>
          <tr>
            <th scope="col">Term</th>
            <th scope="col">Leader</th>
            <th scope="col">From</th>
            <th scope="col">Lasted</th>
            <th scope="col">End</th>
            <th scope="col">Gap before</th>
          </tr>
        </thead>
        <tbody>
          {rowsOf(timelineOf(election)).map(({ span: { term, to }, gapBeforeMs }) => (
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
export function TimelineChart({ election }: { election: ElectionView }) {
  const { store } = usePage();
  const [mostMs, setMost] = useState<number>(Number.POSITIVE_INFINITY);
  useSecond();
  const now = store.now();
  const timeline = timelineOf(election);
  const range = rangeOf(timeline, now, mostMs);
  if (election.terms.length === 0) return <p class="quiet">No term has been seen yet.</p>;
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
        <div class="axis">
          <span>{timeText(range.from, now)}</span>
          <span>{timeText((range.from + range.to) / 2, now)}</span>
          <span>now</span>
        </div>
      </div>
    </div>
  );
}

function Lane({ timeline, range, now }: { timeline: Timeline; range: Range; now: number }) {
  return (
    <div class="lane">
      {timeline.terms.map((span) => {
        const { term, to, tone, isUnsure } = span;
        const place = placeOf({ from: term.from, to }, range);
        if (place === null) return null;
        const end = term.end === null ? 'lasts' : END_TEXT[term.end];
        const title = `term ${term.term}: ${durationText((to ?? now) - term.from)}, ${end}`;
        return (
          <div
            key={`${term.term} ${term.from}`}
            class="span"
            data-tone={isUnsure ? 'unsure' : to === null ? 'now' : tone}
            style={styleOf(place)}
            title={title}
          >
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
