import { chosen, ratio } from '../harness/compare.mjs';
import { barsOfCrowds, COLUMNS, measureHandovers, rowsOf } from '../harness/handovers.mjs';
import { plansOf } from '../harness/plans.mjs';
import { rounded } from '../harness/quantiles.mjs';

const OURS = 'Conclave election';
const RIVAL = 'Curator LeaderLatch';
/** @type {Record<number, number>} */
const BARS = { 15: 1, 1000: 0.6 };

/**
 * How long it takes from a leader's stepping down until the next one knows that it leads.
 *
 * @param {import('../harness/finding.mjs').Bench} bench
 * @returns {Promise<import('../harness/finding.mjs').Finding>}
 */
export default async function electionHandover(bench) {
  const contestants = chosen(bench, ({ name }) => name === OURS || name === RIVAL);
  const measured = [];
  for (const plan of plansOf(bench, [15, 50]))
    measured.push(...(await measureHandovers({ bench, contestants, plan, takesPart: () => true })));
  return {
    id: 'election-handover',
    title: 'Handover of an election, from stepping down until the next one knows that it leads',
    columns: COLUMNS,
    table: rowsOf(measured),
    bars: [...measured.flatMap(barsOf), ...barsOfCrowds(measured, OURS)],
    notes: [
      'The paces are those of the locks.',
      "Conclave's successor has its claim committed by a quorum before it leads: a transaction more than the latch does.",
    ],
    data: measured,
  };
}

/** @param {import('../harness/handovers.mjs').Handovers} measured */
function barsOf({ setting: { servers, crowd, pace }, series }) {
  const ours = series.find(({ name }) => name === OURS);
  const theirs = series.find(({ name }) => name === RIVAL);
  const bar = BARS[crowd];
  if (ours === undefined || theirs === undefined || bar === undefined || servers !== 1) return [];
  const measured = rounded(ratio(ours.rounds, theirs.rounds), 3);
  return [{ what: `p50 at ${crowd}, times ${RIVAL}, ${pace}`, measured, bar }];
}
