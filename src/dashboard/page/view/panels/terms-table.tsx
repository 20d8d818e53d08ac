import type { ElectionView } from '../../../api.js';
import { durationText, END_TEXT, timeText } from '../../model/format.js';
import { isShown, rowsOf, timelinesOf } from '../../model/timeline.js';
import { usePage, useSecond } from '../page-context.js';
import { Foreign } from '../parts/foreign.js';

/** The terms in words. Each row has the leader, the term's beginning, length and end, and the time without a leader before it. */
export function TermsTable({ election }: { election: ElectionView }) {
  const { store } = usePage();
  useSecond();
  const timelines = timelinesOf(election).filter(({ terms }) => terms.length > 0);
  if (timelines.length === 0) return null;
  const now = store.now();
  const hasSeats = election.seats > 1;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: readers must be able to scroll it with keys.
    <section class="scroll" tabIndex={0} aria-label="Terms">
      <table>
        <thead>
          <tr>
            {hasSeats && <th scope="col">Seat</th>}
            <th scope="col">Term</th>
            <th scope="col">Leader</th>
            <th scope="col">From</th>
            <th scope="col">Lasted</th>
            <th scope="col">End</th>
            <th scope="col">Gap before</th>
          </tr>
        </thead>
        <tbody>
          {timelines.flatMap((timeline) =>
            rowsOf(timeline).map(({ span: { term, to }, gapBeforeMs }) => (
              <tr key={`${term.seat} ${term.term} ${term.from}`}>
                {hasSeats && <td>{term.seat}</td>}
                <td class="number">{term.term}</td>
                <td class="who">{term.id === null ? 'unknown' : <Foreign text={term.id} />}</td>
                <td class="number">{timeText(term.from, now)}</td>
                <td class="number">{durationText((to ?? now) - term.from)}</td>
                <td>{term.end === null ? (to === null ? 'lasts' : 'not seen') : END_TEXT[term.end]}</td>
                <td class="number" data-gap={gapBeforeMs !== null && isShown({ from: 0, to: gapBeforeMs })}>
                  {gapBeforeMs === null ? '' : durationText(gapBeforeMs)}
                </td>
              </tr>
            )),
          )}
        </tbody>
      </table>
    </section>
  );
}
