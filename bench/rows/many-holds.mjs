import { Child } from '../harness/child.mjs';
import { median, rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';

const SCRIPT = new URL('processes/many-holds.mjs', import.meta.url);
const STALL_MS = 30_000;

/**
 * Measures one process that takes thousands of shards, and many locks, with and without `maxStallMs`. The two take turns.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function manyHolds({ quick, rounds, say }) {
  const counts = quick ? { shards: 1024, locks: 250 } : { shards: 4096, locks: 1000 };
  const servers = await startServers();
  /** @type {Map<string, { tookMs: number, longestBlockMs: number, lost: number }[]>} */
  const measured = new Map();
  try {
    for (let round = 0; round < rounds; round++)
      for (const maxStallMs of [undefined, STALL_MS])
        for (const kind of /** @type {const} */ (['shards', 'locks'])) {
          const child = new Child(SCRIPT);
          const path = `/many-${kind}-${round}-${maxStallMs ?? 'plain'}`;
          const name = `${kind}${maxStallMs === undefined ? '' : ', with maxStallMs'}`;
          try {
            const given = { connect: servers.connect, path, [kind]: counts[kind], maxStallMs };
            const result = await child.ask(kind, given);
            measured.set(name, [...(measured.get(name) ?? []), result]);
            say(
              `many holds: ${name}: ${Math.round(result.tookMs)} ms, longest block ${Math.round(result.longestBlockMs)} ms`,
            );
          } finally {
            await child.end();
          }
        }
  } finally {
    await servers.stop();
  }
  return report(counts, measured);
}

/**
 * @param {{ shards: number, locks: number }} counts
 * @param {ReadonlyMap<string, readonly { tookMs: number, longestBlockMs: number, lost: number }[]>} measured
 * @returns {import('../harness/finding.mjs').Finding}
 */
function report(counts, measured) {
  const rows = [...measured].map(([name, results]) => ({
    name,
    tookMs: median(results.map(({ tookMs }) => tookMs)),
    blockMs: median(results.map(({ longestBlockMs }) => longestBlockMs)),
    lost: results.reduce((sum, { lost }) => sum + lost, 0),
  }));
  return {
    id: 'many-holds',
    title: `${counts.shards} shards of one member, and ${counts.locks} locks of one session`,
    columns: ['', 'all are held after, ms', 'longest block of the event loop, ms', 'lost'],
    table: rows.map(({ name, tookMs, blockMs, lost }) => [name, rounded(tookMs), rounded(blockMs), lost]),
    notes: ['Medians of all rounds, each in a process of its own.', `maxStallMs is ${STALL_MS / 1000} s.`],
    data: Object.fromEntries(measured),
  };
}
