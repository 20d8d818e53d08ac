import { chosen } from '../harness/compare.mjs';
import { findingOf } from '../harness/handover-report.mjs';
import { measureHandovers } from '../harness/handovers.mjs';
import { plansOf } from '../harness/plans.mjs';

const OURS = 'Conclave election';
const RIVAL = 'Curator LeaderLatch';
/**
 * Measures the time from a leader's `stop()` until the next candidate knows that it leads.
 *
 * @type {import('../harness/finding.mjs').Row}
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
  return findingOf({
    id: 'election-handover',
    title: 'Handover of an election, from stepping down until the next one knows that it leads',
    measured,
    beside: [OURS, RIVAL],
    notes: [
      'The paces are the same as for locks.',
      "The release of Conclave's leader writes the successor into the record, which the successor reads before it proves its term. At once the leader also lists the queue before. The latch's successor lists the queue.",
    ],
  });
}
