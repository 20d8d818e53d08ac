import { quantile, rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';
import { compare, mean } from '../strategies/contest.mjs';

/**
 * Measures what a handover costs the servers if it wakes all contenders, and if it wakes only the next one.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function herd({ quick, crowds, say }) {
  const servers = await startServers();
  /** @type {import('../strategies/contest.mjs').Costs[]} */
  const costs = [];
  try {
    const { connect, meter } = servers;
    for (const contenders of crowds ?? (quick ? [5, 25] : [2, 5, 15, 50, 100])) {
      costs.push(...(await compare({ connect, meter, contenders, rounds: quick ? 5 : 50 })));
      say(`${contenders} contenders`);
    }
  } finally {
    await servers.stop();
  }
  return {
    id: 'herd',
    title: 'What a handover costs if it wakes all contenders, and if it wakes only the next one',
    columns: ['contenders', 'what each contender does', 'p50 µs', 'requests', 'notifications'],
    table: costs.map(({ contenders, name, timesUs, handovers }) => {
      const { requests, notifications } = mean(handovers);
      return [
        contenders,
        name,
        rounded(quantile(timesUs, 0.5), 0),
        rounded(requests),
        rounded(notifications),
      ];
    }),
    summary: { lines: ['contenders'], across: 'what each contender does', value: 'p50 µs' },
    notes: [
      'The strategies are in `bench/strategies`. A handover includes all requests that follow from it, except those with which a contender joins again.',
    ],
    data: costs.map(({ contenders, name, timesUs, handovers, joins }) => ({
      contenders,
      name,
      timesUs,
      ...mean(handovers),
      join: mean(joins),
    })),
  };
}
