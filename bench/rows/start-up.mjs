import { median, quantile, rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';
import { timedProcess } from '../harness/timed-process.mjs';
import { RawClient } from '../strategies/raw-client.mjs';

const CONCLAVE = new URL('processes/first-elected.mjs', import.meta.url);
const RAW = new URL('processes/first-created.mjs', import.meta.url);
const SESSION_MS = 6000;
const BAR = 1.1;

/**
 * Measures the time from the start of a process until its first `elected`, and the same for the raw client.
 *
 * @param {import('../harness/finding.mjs').Bench} bench
 * @returns {Promise<import('../harness/finding.mjs').Finding>}
 */
export default async function startUp({ quick, say }) {
  const rounds = quick ? 3 : 21;
  const servers = await startServers();
  const client = await RawClient.open(servers.connect, SESSION_MS);
  /** @type {Record<'conclave' | 'raw', number[]>} */
  const tookMs = { conclave: [], raw: [] };
  try {
    // Not counted: the first process reads the files from the disk.
    for (let round = -1; round < rounds; round++) {
      for (const [name, script] of Object.entries({ conclave: CONCLAVE, raw: RAW })) {
        const path = `/start-up-${name}-${round + 1}`;
        await client.createPersistent(path);
        const { tookMs: took } = await timedProcess(script, [servers.connect, path, String(SESSION_MS)]);
        if (round >= 0) tookMs[/** @type {'conclave' | 'raw'} */ (name)].push(took);
      }
      if (round % 5 === 4 || round + 1 === rounds) say(`start-up: ${round + 1} of ${rounds} rounds`);
    }
  } finally {
    await client.close();
    await servers.stop();
  }
  const ratio = median(tookMs.conclave) / median(tookMs.raw);
  return {
    id: 'start-up',
    title: 'From the start of a process until it leads for the first time',
    columns: ['', 'p50 ms', 'p90 ms', 'times the raw client'],
    table: [
      ['Conclave: LeaderElector', ...figures(tookMs.conclave), rounded(ratio, 2)],
      ['node-zookeeper-client: create, list, be first', ...figures(tookMs.raw), 1],
    ],
    bars: [
      { what: 'process start → first elected, times the raw client', measured: rounded(ratio, 3), bar: BAR },
    ],
    notes: [
      `${rounds} rounds, one after the other in turns; whole processes, from spawn until their line has come.`,
      "Both take plain Node's own start as well. Conclave reads the record, and creates its node with a claim; the raw client creates its node, and lists.",
    ],
    data: { tookMs },
  };
}

/** @param {number[]} times */
function figures(times) {
  return [rounded(median(times)), rounded(quantile(times, 0.9))];
}
