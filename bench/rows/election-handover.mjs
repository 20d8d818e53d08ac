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
  '1 after a while 15': 0.9,
  '1 after a while 1000': 0.45,
  '3 at once 100': 0.9,
  '3 after a while 100': 0.8,
};
/** @type {Parameters<typeof barsBeside>[1]} */
const COMPARISON = {
  ours: OURS,
  rival: RIVAL,
  p50: ({ servers, pace, crowd }) => BARS[`${servers} ${pace} ${crowd}`],
};
// The release's signal notifies the successor, if it waits for one, and the deletion of the leader's node does.
const NOTIFICATIONS = 2;
// With a thousand contenders these are a lower bound for no contestant, and starting servers for each of them takes minutes.
const FEW = ['terms at a signal', 'Conclave terms at a signal'];

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
  const takesPart = (/** @type {string} */ name, /** @type {number} */ crowd) =>
    crowd < 1000 || !FEW.includes(name);
  const measured = [];
  for (const plan of plansOf(bench, ['at once']))
    measured.push(...(await measureHandovers({ bench, contestants, plan, takesPart, ours: OURS })));
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
      "Conclave's successor is written into the record by the release. After a while it leads when it is told; at once it reads the record and renews its lease. The latch lists the queue.",
      ...notesOfLowerBounds(measured, COMPARISON),
      ...notesOfFailures(measured),
    ],
    data: measured,
  };
}
