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
/** @type {{ ours: string, rival: string, p50: Record<number, number> }} */
const COMPARISON = { ours: OURS, rival: RIVAL, p50: { 15: 1, 1000: 0.6 } };
// With a thousand contenders these bound nothing, and starting servers for each of them takes minutes.
const FEW = ['claims without a listing', 'Conclave claims without a listing'];

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
    bars: [...measured.flatMap((each) => barsBeside(each, COMPARISON)), ...barsOfCrowds(measured, OURS)],
    notes: [
      'The paces are those of the locks.',
      "Conclave's successor is written into the record by the release, and reads that; the latch lists the queue.",
      ...notesOfLowerBounds(measured, COMPARISON),
      ...notesOfFailures(measured),
    ],
    data: measured,
  };
}
