import { chosen } from '../harness/compare.mjs';
import {
  barsBeside,
  barsOfCrowds,
  COLUMNS,
  notesOfFailures,
  notesOfLowerBounds,
  rowsOf,
  SUMMARY,
} from '../harness/handover-report.mjs';
import { measureHandovers } from '../harness/handovers.mjs';
import { plansOf } from '../harness/plans.mjs';

const OURS = 'Conclave election';
const RIVAL = 'Curator LeaderLatch';
/** By the number of servers, the pace and the number of contenders. @type {Record<string, number | undefined>} */
const BARS = {
  '1 at once 15': 1,
  '1 at once 1000': 0.5,
  '1 after a while 15': 1.2,
  '1 after a while 1000': 0.5,
  '3 at once 100': 0.9,
  '3 after a while 100': 0.95,
};
/** @type {Parameters<typeof barsBeside>[1]} */
const COMPARISON = {
  ours: OURS,
  rival: RIVAL,
  p50: ({ servers, pace, crowd }) => BARS[`${servers} ${pace} ${crowd}`],
};
// The deletion of the leader's node notifies the successor, and the leader that watches its queue.
const NOTIFICATIONS = 2;

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
    bars: [
      ...measured.flatMap((each) => barsBeside(each, COMPARISON)),
      ...barsOfCrowds(measured, OURS, NOTIFICATIONS),
    ],
    notes: [
      'The paces are the same as for locks.',
      "The release of Conclave's leader writes the successor into the record, which the successor reads. At once the leader lists the queue before, and the successor also renews its lease. The latch's successor lists the queue.",
      ...notesOfLowerBounds(measured, COMPARISON),
      ...notesOfFailures(measured),
    ],
    data: measured,
  };
}
