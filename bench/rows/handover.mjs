import { chosen, percentiles, ratio } from '../harness/compare.mjs';
import { barsOfCrowds, COLUMNS, measureHandovers, rowsOf } from '../harness/handovers.mjs';
import { plansOf } from '../harness/plans.mjs';
import { rounded } from '../harness/quantiles.mjs';

const OURS = 'Conclave lock';
const RIVAL = 'go-zookeeper Lock';
/** @type {Record<number, number>} */
const BARS = { 15: 0.8, 100: 0.8, 1000: 0.5 };
// Its threads take minutes to get in line.
const NOT_A_THOUSAND = 'kazoo Lock';

/**
 * How long it takes from the release of a lock until the next one in line knows that it holds.
 *
 * @param {import('../harness/finding.mjs').Bench} bench
 * @returns {Promise<import('../harness/finding.mjs').Finding>}
 */
export default async function handover(bench) {
  const locks = chosen(bench, ({ kind }) => kind === 'lock');
  const takesPart = (/** @type {string} */ name, /** @type {number} */ crowd) =>
    name !== NOT_A_THOUSAND || crowd < 1000;
  const measured = [];
  for (const plan of plansOf(bench, [15, 100]))
    measured.push(...(await measureHandovers({ bench, contestants: locks, plan, takesPart })));
  return {
    id: 'handover',
    title: 'Handover of a lock, from the release until the next one knows that it holds',
    columns: COLUMNS,
    table: rowsOf(measured),
    bars: [...measured.flatMap(barsOf), ...barsOfCrowds(measured, OURS)],
    notes: [
      'At once: each handover right after the one before, sessions of 600 s. After a while: sessions of 5 s, of which each holder holds for 1.3 s.',
      'Requests are those of the handover and all that follows from it, less the pings of the same time; they are counted where handovers follow at once.',
      ...(measured.some(({ setting }) => setting.crowd >= 1000)
        ? [`${NOT_A_THOUSAND} is left out at 1000: its threads take minutes to get in line.`]
        : []),
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
  const [our, their] = [percentiles(ours.rounds), percentiles(theirs.rounds)];
  return [
    {
      what: `p50 at ${crowd}, times ${RIVAL}, ${pace}`,
      measured: rounded(ratio(ours.rounds, theirs.rounds), 3),
      bar,
    },
    { what: `p99 at ${crowd}, times ${RIVAL}, ${pace}`, measured: rounded(our.p99 / their.p99, 2), bar: 1 },
  ];
}
