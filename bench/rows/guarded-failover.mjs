import { setTimeout as pause } from 'node:timers/promises';
import { SessionGuardian } from 'conclave';
import { quantile, rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';
import { PacketSuccession } from './guarded-failover/packet-succession.mjs';
import { Succession } from './guarded-failover/succession.mjs';

const WORKER = new URL('processes/supervised-worker.mjs', import.meta.url);
// The guardian learns of a new worker from the worker's first messages. A round begins after that.
const GUARDED_BY_THEN_MS = 500;
const GUARDED = 'Conclave, with a guardian';
const UNGUARDED = 'Conclave, without';
const PACKETS = 'ready-made packets of a guardian';

/**
 * Measures how long an election has no leader when the leader's process is killed, with a guardian in its parent and without,
 * for several session timeouts.
 *
 * Each worker is a process, and a successor already waits in the queue. The time is from the parent's `exit` event until the
 * successor's `elected`, by the machine's monotonic clock. The rounds without a guardian run at the same time as those with one,
 * each in an election of its own.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function guardedFailover({ quick, say }) {
  const plan = quick
    ? { rounds: 3, sessionTimeoutsMs: [10_000, 30_000], unguarded: { rounds: 1, sessionTimeoutsMs: [4000] } }
    : {
        rounds: 50,
        sessionTimeoutsMs: [10_000, 30_000],
        unguarded: { rounds: 8, sessionTimeoutsMs: [10_000, 30_000] },
      };
  const servers = await startServers();
  const guardian = new SessionGuardian({ connect: servers.connect });
  guardian.on('error', (error) => console.error(error));
  try {
    const { connect } = servers;
    const unguarded = await begin(connect, plan.unguarded);
    say(`guarded failover: ${unguarded.length} leaders without a guardian were killed`);
    const successions = plan.sessionTimeoutsMs.map((sessionTimeoutMs) => {
      const place = { connect, path: `/guarded-${sessionTimeoutMs}`, sessionTimeoutMs };
      return new Succession(WORKER, place, (child) => guardian.watch(child));
    });
    const packets = new PacketSuccession({ connect, path: '/packets', sessionTimeoutMs: 10_000 });
    const contestants = [...successions, packets];
    for (let round = 0; round < plan.rounds; round++) {
      await Promise.all(contestants.map((succession) => succession.prepare()));
      await pause(GUARDED_BY_THEN_MS);
      // The leaders fail one after the other, so that the failovers don't disturb each other.
      for (const succession of contestants) await succession.fail();
      if (round % 10 === 9) say(`guarded failover: ${round + 1} of ${plan.rounds} rounds`);
    }
    await Promise.all(contestants.map((succession) => succession.end()));
    const times = [
      ...timesOf(GUARDED, successions),
      ...timesOf(PACKETS, [packets]),
      ...timesOf(UNGUARDED, await finish(unguarded)),
    ];
    return report(times);
  } finally {
    await guardian.close();
    await servers.stop();
  }
}

/** @param {string} connect @param {{ rounds: number, sessionTimeoutsMs: number[] }} plan */
async function begin(connect, { rounds, sessionTimeoutsMs }) {
  const successions = sessionTimeoutsMs.flatMap((sessionTimeoutMs) =>
    Array.from(
      { length: rounds },
      (_, round) =>
        new Succession(WORKER, {
          connect,
          path: `/unguarded-${sessionTimeoutMs}-${round}`,
          sessionTimeoutMs,
        }),
    ),
  );
  for (const succession of successions) await succession.prepare();
  return successions.map((succession) => ({ succession, failed: succession.fail() }));
}

/** @param {{ succession: Succession, failed: Promise<void> }[]} unguarded */
async function finish(unguarded) {
  await Promise.all(unguarded.map(({ failed }) => failed));
  await Promise.all(unguarded.map(({ succession }) => succession.end()));
  return unguarded.map(({ succession }) => succession);
}

/** The times by session timeout. @param {string} who @param {readonly Succession[]} all @returns {Times[]} */
function timesOf(who, all) {
  return [...new Set(all.map(({ place }) => place.sessionTimeoutMs))].map((sessionTimeoutMs) => ({
    who,
    sessionTimeoutMs,
    tookMs: all
      .filter(({ place }) => place.sessionTimeoutMs === sessionTimeoutMs)
      .flatMap(({ tookMs }) => tookMs),
  }));
}

/** @typedef {{ who: string, sessionTimeoutMs: number, tookMs: number[] }} Times */

/** @param {Times[]} times @returns {import('../harness/finding.mjs').Finding} */
function report(times) {
  return {
    id: 'guarded-failover',
    title: "Failover after kill -9 of the leader's process",
    columns: ['who', 'session timeout ms', 'rounds', 'p50 ms', 'p90 ms', 'longest ms'],
    table: times.map(({ who, sessionTimeoutMs, tookMs }) => [
      who,
      sessionTimeoutMs,
      tookMs.length,
      ...[0.5, 0.9, 1].map((share) => rounded(quantile(tookMs, share))),
    ]),
    notes: [
      "From the `exit` event of the process, in its parent, until the successor's `elected`, in another process.",
      'One server, with its data in memory and ticks of 500 ms. The session timeouts take turns.',
      `\`${PACKETS}\` send what a guardian sends, in as many round trips. The candidate does nothing but wait for the end of the leader's node and read the record. A guardian on Node that verifies before it writes can't be faster.`,
      'Without a guardian a failover takes the session timeout, the rest of a tick, and the takeover delay.',
    ],
    data: { times },
  };
}
