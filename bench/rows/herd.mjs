import { quantile, rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';
import { compare, mean } from '../strategies/contest.mjs';

/**
 * What a handover costs the servers where all are woken, and where only the next one is.
 *
 * @param {import('../harness/finding.mjs').Bench} bench
 * @returns {Promise<import('../harness/finding.mjs').Finding>}
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
    title: 'What a handover costs where all are woken, and where only the next one is',
    columns: ['contenders', 'what everybody does', 'p50 µs', 'requests', 'notifications'],
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
    bars: [],
    notes: [
      'The strategies are those of `bench/strategies`; a handover with all that follows from it, without the joining again.',
    ],
    data: costs.map(({ contenders, name, timesUs, handovers }) => ({
      contenders,
      name,
      timesUs,
      ...mean(handovers),
    })),
  };
}
