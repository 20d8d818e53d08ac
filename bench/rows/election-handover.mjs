import { chosen } from '../harness/compare.mjs';
import { COLUMNS, notesOf, rowsOf, SUMMARY } from '../harness/handover-report.mjs';
import { measureHandovers } from '../harness/handovers.mjs';
import { plansOf } from '../harness/plans.mjs';

const OURS = 'Conclave election';
const RIVAL = 'Curator LeaderLatch';
/**
 * Measures the time from a leader's `stop()` until the next candidate knows that it leads.
 *
 * @param {import('../harness/finding.mjs').Bench} bench
 * @returns {Promise<import('../harness/finding.mjs').Finding>}
 */
export default async function electionHandover(bench) {
  const contestants = chosen(
    bench,
    ({ kind, lowerBound }) => kind === 'election' && !(bench.quick && lowerBound !== undefined),
  );
  const measured = [];
  for (const plan of plansOf(bench, ['at once']))
    measured.push(
      ...(await measureHandovers({ bench, contestants, plan, takesPart: () => true, ours: OURS })),
    );
  return {
    id: 'election-handover',
    title: 'Handover of an election, from stepping down until the next one knows that it leads',
    columns: COLUMNS,
    table: rowsOf(measured),
    summary: SUMMARY,
    notes: [
      'The paces are the same as for locks.',
      "The release of Conclave's leader writes the successor into the record, which the successor reads before it proves its term. At once the leader also lists the queue before. The latch's successor lists the queue.",
      ...notesOf(measured, [OURS, RIVAL]),
    ],
    data: measured,
  };
}
