import { now } from '../harness/clock.mjs';
import { quantile, rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';
import { WarmWorker } from '../harness/warm-worker.mjs';

const WAYS = /** @type {const} */ ([
  { loads: 'nothing', who: 'a service that loads nothing' },
  { loads: 'lead', who: 'loads 1.5 s in `lead`' },
  { loads: 'prepare', who: 'loads 1.5 s in `prepare`' },
]);

/**
 * Measures for how long nobody acts when the leader of a service changes that loads for 1.5 s before it acts.
 *
 * Each worker is a process, which acts every 5 ms while it leads. At a handover the leader is told to stop as soon as the next worker has
 * joined, as in a deployment. At a failover the next worker has waited, and loaded if it prepares, before the leader is killed.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function warmStandby({ quick, say }) {
  const rounds = quick ? 3 : 20;
  const servers = await startServers();
  /** @type {Pauses[]} */
  const measured = [];
  try {
    for (const way of WAYS) {
      const handovers = await changes(servers.connect, way.loads, rounds, handOver);
      const failovers = await changes(servers.connect, way.loads, rounds, failOver);
      measured.push({ ...way, handovers, failovers });
      say(`warm standby: ${way.who}, ${rounds} handovers and ${rounds} failovers`);
    }
  } finally {
    await servers.stop();
  }
  return report(measured);
}

/** @typedef {{ loads: string, who: string, handovers: number[], failovers: number[] }} Pauses in milliseconds */

/** @param {WarmWorker} leader @param {WarmWorker} next @returns {Promise<number>} the time of the leader's last act */
async function handOver(leader, next) {
  await next.joined;
  leader.child.kill('SIGTERM');
  return await leader.lastActAt;
}

/** @param {WarmWorker} leader @param {WarmWorker} next @returns {Promise<number>} the time of the kill */
async function failOver(leader, next) {
  await next.loaded;
  const killedAt = now();
  leader.child.kill('SIGKILL');
  return killedAt;
}

/**
 * @param {string} connect
 * @param {string} loads
 * @param {number} rounds
 * @param {(leader: WarmWorker, next: WarmWorker) => Promise<number>} end
 */
async function changes(connect, loads, rounds, end) {
  const path = `/${loads}-${end.name}`;
  let leader = new WarmWorker(connect, path, loads);
  await leader.firstActAt;
  const pauses = [];
  for (let round = 0; round < rounds; round++) {
    const next = new WarmWorker(connect, path, loads);
    const endedAt = await end(leader, next);
    pauses.push((await next.firstActAt) - endedAt);
    leader = next;
  }
  await leader.kill();
  return pauses;
}

/** @param {Pauses[]} measured @returns {import('../harness/finding.mjs').Finding} */
function report(measured) {
  const figures = (/** @type {number[]} */ pauses) =>
    [0.5, 1].map((share) => rounded(quantile(pauses, share)));
  return {
    id: 'warm-standby',
    title: 'For how long nobody acts when the leader of a service changes that loads for 1.5 s',
    columns: ['service', 'rounds', 'handover p50 ms', 'longest ms', 'failover p50 ms', 'longest ms'],
    table: measured.map(({ who, handovers, failovers }) => [
      who,
      handovers.length,
      ...figures(handovers),
      ...figures(failovers),
    ]),
    notes: [
      'Handover: from the last act of the former leader to the first act of the next one. The leader is told to stop when the next worker has just joined.',
      'Failover: from `kill -9` to the first act of the next worker, which had waited before. Default options: a failover takes the rest of the lease, and the takeover delay.',
      'The longest pause at a handover includes the 5 ms between two acts.',
    ],
    data: { measured },
  };
}
