import { setTimeout as pause } from 'node:timers/promises';
import { Child } from '../harness/child.mjs';
import { median, rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';
import { RawClient } from '../strategies/raw-client.mjs';

const SCRIPT = new URL('processes/waiting-line.mjs', import.meta.url);
const SESSION_MS = 30_000;
const SETTLE_MS = 1000;

/** @typedef {'raw' | 'sessions' | 'shared'} How */
/** @type {Record<How, string>} */
const WAYS = {
  raw: 'node-zookeeper-client, a session each',
  sessions: 'Conclave, a session each',
  shared: 'Conclave, all on one session',
};

/**
 * Measures the memory of a process with a thousand contenders in one lock's queue.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function memory({ quick, say }) {
  const rounds = quick ? 1 : 5;
  const contenders = quick ? 250 : 1000;
  const servers = await startServers();
  const holder = await RawClient.open(servers.connect, SESSION_MS);
  /** @type {Record<How, Cost[]>} */
  const costs = { raw: [], sessions: [], shared: [] };
  try {
    for (let round = 0; round < rounds; round++) {
      for (const how of /** @type {How[]} */ (Object.keys(WAYS))) {
        const path = `/memory-${how}-${round}`;
        await holder.createPersistent(path);
        // The recipe takes this name for a contender's, so all contenders wait behind it.
        await holder.createSequential(`${path}/${how === 'raw' ? '' : `_c_${crypto.randomUUID()}-`}lock-`);
        costs[how].push(
          await costOf(how, servers.meter, { connect: servers.connect, path, count: contenders }),
        );
      }
      say(`memory: ${round + 1} of ${rounds} rounds`);
    }
  } finally {
    await holder.close();
    await servers.stop();
  }
  return report(costs, contenders);
}

/** @typedef {{ bytes: number, rss: number, before: object, after: object }} Cost of each contender, on average */

/**
 * @param {How} how
 * @param {import('../harness/meter.mjs').Meter} meter
 * @param {{ connect: string, path: string, count: number }} place
 * @returns {Promise<Cost>}
 */
async function costOf(how, meter, place) {
  const child = new Child(SCRIPT, { execArgv: ['--expose-gc'] });
  try {
    const before = await child.ask('prepare', how, {
      ...place,
      sessionTimeoutMs: SESSION_MS,
    });
    await child.ask('fill');
    await untilAllWait(meter, place.count);
    const after = await child.ask('memory');
    return {
      bytes: (after.bytes - before.bytes) / place.count,
      rss: (after.rss - before.rss) / place.count,
      before,
      after,
    };
  } finally {
    await child.end();
  }
}

/**
 * Waits until all contenders wait. A waiting lock reports nothing, but the server counts the watches.
 *
 * @param {import('../harness/meter.mjs').Meter} meter
 * @param {number} count
 */
async function untilAllWait(meter, count) {
  const watches = async () => (await meter.holdings()).watches;
  for (let before = -1, now = await watches(); now < count || now !== before; now = await watches()) {
    before = now;
    await pause(SETTLE_MS);
  }
}

/** @param {Record<How, Cost[]>} costs @param {number} contenders @returns {import('../harness/finding.mjs').Finding} */
function report(costs, contenders) {
  /** @param {How} how @param {'bytes' | 'rss'} what */
  const kilobytes = (how, what) => median(costs[how].map((cost) => cost[what])) / 1000;
  return {
    id: 'memory',
    title: `Memory of one of ${contenders} contenders that wait in one process`,
    columns: ['', 'heap and buffers, kB each', 'resident, kB each'],
    table: Object.entries(WAYS).map(([how, title]) => [
      title,
      rounded(kilobytes(/** @type {How} */ (how), 'bytes')),
      rounded(kilobytes(/** @type {How} */ (how), 'rss')),
    ]),
    notes: [
      `${costs.raw.length} rounds in turns, each in a new process. The memory is measured after garbage collections, less the memory of the same process before it opened anything.`,
      "Heap and external memory, without what the system's sockets take; the resident size also shows what the collector hasn't given back.",
      'Another session holds the lock. The raw client has no lease and does not watch its own node.',
    ],
    data: { contenders, costs },
  };
}
