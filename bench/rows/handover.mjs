import { chosen } from '../harness/compare.mjs';
import { findingOf } from '../harness/handover-report.mjs';
import { measureHandovers } from '../harness/handovers.mjs';
import { plansOf } from '../harness/plans.mjs';

const OURS = 'Conclave lock';
const RIVAL = 'go-zookeeper Lock';
// A quick run leaves these out, because they are slow to start.
const LATER = ['Curator InterProcessMutex', 'kazoo Lock'];
// Its threads take minutes to join the queue.
const NOT_A_THOUSAND = 'kazoo Lock';
// A weaker lower bound than the contestant with Conclave's requests. Starting servers for a thousand contenders takes minutes.
const FEW = 'packets without a listing';

/**
 * Measures the time from the release of a lock until the next contender knows that it holds the lock.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function handover(bench) {
  const locks = chosen(
    bench,
    ({ kind, name, lowerBound }) =>
      kind === 'lock' && !(bench.quick && (lowerBound !== undefined || LATER.includes(name))),
  );
  const takesPart = (/** @type {string} */ name, /** @type {number} */ crowd) =>
    crowd < 1000 || (name !== NOT_A_THOUSAND && name !== FEW);
  const measured = [];
  for (const plan of plansOf(bench, ['at once', 'after a while']))
    measured.push(...(await measureHandovers({ bench, contestants: locks, plan, takesPart, ours: OURS })));
  return findingOf({
    id: 'handover',
    title: 'Handover of a lock, from the release until the next one knows that it holds',
    measured,
    beside: [OURS, RIVAL],
    notes: [
      'At once: each handover follows right after the one before. Session timeouts are a day, with three servers ten minutes. After a while: session timeouts are 5 s, and each holder holds the lock for 1.3 s.',
      'Requests are those of the handover and all that follow from it. The server numbers the requests of each session, except pings, and the benchmark compares these numbers. The figure is the median of all lines, counted where handovers follow at once.',
      ...(measured.some(({ setting }) => setting.crowd >= 1000)
        ? [`${NOT_A_THOUSAND} is left out at 1000: its threads take minutes to get in line.`]
        : []),
    ],
  });
}
