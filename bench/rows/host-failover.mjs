import { chosen, pause, untilSettled } from '../harness/compare.mjs';
import { ETCD } from '../harness/contestants.mjs';
import { startEtcd, startServers } from '../harness/servers.mjs';
import { barsOf, COLUMNS, notesOf, rowsOf, SUMMARY } from './host-failover/report.mjs';
import { TICK_MS, waves } from './host-failover/settings.mjs';
import { Succession } from './host-failover/succession.mjs';

const ELECTIONS = 10;
const QUICK_ELECTIONS = 4;
/** Failovers that wait for a session's end yield one independent time in a round, so this row has more rounds than others. */
const MORE_ROUNDS = 2;
// More than a fifth of a session timeout. Within that the next candidate notices that it is next.
const SETTLE_MS = 1500;

/** @typedef {import('../harness/compare.mjs').Found} Found */
/** @typedef {import('./host-failover/report.mjs').Failovers} Failovers */

/**
 * Measures the time until another candidate leads after a leader's process or link has failed, without a guardian.
 *
 * @param {import('../harness/finding.mjs').Bench} bench
 * @returns {Promise<import('../harness/finding.mjs').Finding>}
 */
export default async function hostFailover(bench) {
  const rounds = bench.quick ? 1 : MORE_ROUNDS * bench.rounds;
  const elections = bench.quick ? QUICK_ELECTIONS : ELECTIONS;
  const planned = waves(bench.quick);
  const names = new Set(planned.flat().map(({ contestant }) => contestant));
  const contestants = chosen(bench, ({ name }) => names.has(name));
  const measured = planned.map((wave) =>
    wave
      .filter(({ contestant }) => contestants.some(({ name }) => name === contestant))
      .map((setting) => ({
        setting,
        rounds: /** @type {number[][]} */ ([]),
        alreadyLost: 0,
        failures: /** @type {string[]} */ ([]),
      })),
  );
  for (let round = 0; round < rounds; round++) {
    for (const [at, wave] of measured.entries()) {
      await failTogether(wave, contestants, { elections, phase: round / rounds });
      bench.say(`round ${round + 1} of ${rounds}, ${at + 1} of ${measured.length}: ${words(wave)}`);
    }
  }
  const all = measured.flat();
  return {
    id: 'host-failover',
    title: "Failover after a failure of the leader's process or link, without a guardian",
    columns: COLUMNS,
    table: rowsOf(all),
    summary: SUMMARY,
    bars: barsOf(all),
    notes: notesOf(all, elections),
    data: all,
  };
}

/** @param {readonly Failovers[]} wave */
function words(wave) {
  const leaders = new Set(wave.map(({ setting }) => setting.fault));
  return `${wave.length} contestants, ${[...leaders].join(', ')}`;
}

/**
 * Lets all contestants of a wave fail once, on new servers, so that no sessions of earlier failures end meanwhile.
 *
 * @param {Failovers[]} wave
 * @param {readonly Found[]} contestants
 * @param {{ elections: number, phase: number }} plan `phase`: when in a tick the first contestant fails, from 0 to 1. The
 *   others follow, spread over a tick
 */
async function failTogether(wave, contestants, { elections, phase }) {
  const servers = await startServers({ tickMs: TICK_MS });
  const etcd = wave.some(({ setting }) => setting.contestant === ETCD) ? await startEtcd() : undefined;
  /** @type {Succession[]} */
  const successions = [];
  for (const [at, { setting }] of wave.entries()) {
    const contestant = /** @type {Found} */ (contestants.find(({ name }) => name === setting.contestant));
    const connect = setting.contestant === ETCD ? `${etcd?.connect}` : servers.connect;
    successions.push(new Succession(setting, contestant, { connect, path: `/failover-${at}`, elections }));
  }
  try {
    await Promise.all(successions.map((each) => each.attempt(() => each.open())));
    for (let at = 0; successions.some(({ candidates }) => at < candidates); at++) {
      await Promise.all(successions.map((each) => each.attempt(() => each.stand(at))));
      await untilSettled(servers.meter, areIn(successions, at, elections));
    }
    await pause(SETTLE_MS);
    await Promise.all(
      successions.map(async (each, at) => {
        await untilPhase((phase + at / successions.length) % 1);
        await each.attempt(() => each.fail());
      }),
    );
  } finally {
    await Promise.all(successions.map((each) => each.end()));
    await etcd?.stop();
    await servers.stop();
  }
  for (const [at, { tookMs, alreadyLost, failure }] of successions.entries()) {
    const failovers = /** @type {Failovers} */ (wave[at]);
    failovers.alreadyLost += alreadyLost;
    if (failure === undefined) failovers.rounds.push(tookMs);
    else failovers.failures.push(failure);
  }
}

/**
 * Returns a condition: all contenders that were asked to join have their nodes, and all but the leaders watch a node.
 *
 * @param {readonly Succession[]} successions
 * @param {number} at the number of the process that joined last
 * @param {number} elections of each process
 */
function areIn(successions, at, elections) {
  const there = successions.filter(
    ({ failure, setting }) => failure === undefined && setting.contestant !== ETCD,
  );
  const processes = there.reduce((sum, { candidates }) => sum + Math.min(candidates, at + 1), 0);
  return (/** @type {import('../harness/meter.mjs').Holdings} */ { ephemerals, watches }) =>
    ephemerals >= processes * elections && watches >= (processes - there.length) * elections;
}

/** Waits for a part of a tick. Servers end sessions at multiples of the tick by the machine's monotonic clock, as this process sees it too. @param {number} phase */
async function untilPhase(phase) {
  const nowMs = Number(process.hrtime.bigint() / 1000n) / 1000;
  await pause((phase * TICK_MS - (nowMs % TICK_MS) + TICK_MS) % TICK_MS);
}
