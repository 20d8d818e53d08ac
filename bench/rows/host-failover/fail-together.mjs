import { setTimeout as pause } from 'node:timers/promises';
import { now } from '../../harness/clock.mjs';
import { untilSettled } from '../../harness/compare.mjs';
import { ETCD } from '../../harness/contestants.mjs';
import { startEtcd, startServers } from '../../harness/servers.mjs';
import { TICK_MS } from './settings.mjs';
import { Succession } from './succession.mjs';

// More than a fifth of a session timeout. Within that the next candidate notices that it is next.
const SETTLE_MS = 1500;

/** @typedef {import('../../harness/compare.mjs').Found} Found */
/** @typedef {import('./report.mjs').Failovers} Failovers */

/**
 * Lets all contestants of a wave fail once, on new servers, so that no sessions of earlier failures end meanwhile.
 *
 * @param {Failovers[]} wave
 * @param {readonly Found[]} contestants
 * @param {{ elections: number, phase: number }} plan `phase`: when in a tick the first contestant fails, from 0 to 1. The
 *   others follow, spread over a tick
 */
export async function failTogether(wave, contestants, { elections, phase }) {
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
  return (/** @type {import('../../harness/meter.mjs').Holdings} */ { ephemerals, watches }) =>
    ephemerals >= processes * elections && watches >= (processes - there.length) * elections;
}

/** Waits for a part of a tick. Servers end sessions at multiples of the tick by the machine's monotonic clock, as this process sees it too. @param {number} phase */
async function untilPhase(phase) {
  await pause((phase * TICK_MS - (now() % TICK_MS) + TICK_MS) % TICK_MS);
}
