import { median, quantile, rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';
import { timedProcess } from '../harness/timed-process.mjs';
import { RawClient } from '../strategies/raw-client.mjs';

const SESSION_MS = 6000;
const CONCLAVE = 'Conclave: LeaderElector';
const RAW = 'node-zookeeper-client: create, list, be first';

/** The programs, by their names in the table. The first two are compared. The others are a lower bound, and parts of the time of these two. */
const PROGRAMS = {
  [CONCLAVE]: program('first-elected'),
  [RAW]: program('first-created'),
  'ready-made packets: join, list, read, then claim': program('first-packets'),
  'import of conclave, and nothing else': { ...program('import'), importing: ['conclave'] },
  'import of node-zookeeper-client, and nothing else': {
    ...program('import'),
    importing: ['node-zookeeper-client'],
  },
  'Node alone': program('nothing'),
};

/**
 * Measures the time from the start of a process until its first `elected`, and the same for the raw client.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function startUp({ quick, say }) {
  const rounds = quick ? 3 : 21;
  const servers = await startServers();
  const client = await RawClient.open(servers.connect, SESSION_MS);
  /** @type {Map<string, number[]>} */
  const tookMs = new Map(Object.keys(PROGRAMS).map((name) => [name, []]));
  try {
    // The round before the first isn't counted, because its processes read the files from the disk.
    for (let round = -1; round < rounds; round++) {
      for (const [name, { script, importing }] of Object.entries(PROGRAMS)) {
        const path = `/start-up-${Object.keys(PROGRAMS).indexOf(name)}-${round + 1}`;
        if (importing === undefined) await client.createPersistent(path);
        const args = importing ?? [servers.connect, path, String(SESSION_MS)];
        const { tookMs: took } = await timedProcess(script, args);
        if (round >= 0) tookMs.get(name)?.push(took);
      }
      if (round % 5 === 4 || round + 1 === rounds) say(`start-up: ${round + 1} of ${rounds} rounds`);
    }
  } finally {
    await client.close();
    await servers.stop();
  }
  const times = (/** @type {string} */ name) => tookMs.get(name) ?? [];
  const ratio = (/** @type {string} */ name) => median(times(name)) / median(times(RAW));
  return {
    id: 'start-up',
    title: 'From the start of a process until it leads for the first time',
    columns: ['', 'p50 ms', 'p90 ms', 'times the raw client'],
    table: Object.keys(PROGRAMS).map((name) => [name, ...figures(times(name)), rounded(ratio(name), 2)]),
    notes: [
      `${rounds} rounds. The programs take turns. The time is that of the whole process: from its start until its line has come.`,
      "All take plain Node's own start as well. Conclave reads the record, and creates its node with a claim; the raw client creates its node, and lists.",
      '`ready-made packets` are a lower bound: a plain socket that sends as many requests as Conclave does.',
    ],
    data: { tookMs: Object.fromEntries(tookMs) },
  };
}

/** @param {string} name @returns {{ script: URL, importing?: string[] }} */
function program(name) {
  return { script: new URL(`processes/${name}.mjs`, import.meta.url) };
}

/** @param {number[]} times */
function figures(times) {
  return [rounded(median(times)), rounded(quantile(times, 0.9))];
}
