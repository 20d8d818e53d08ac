import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Child } from '../harness/child.mjs';
import { rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';

const CANDIDATES = new URL('processes/counting-candidates.mjs', import.meta.url);
const BUSY = fileURLToPath(new URL('processes/busy-loop.mjs', import.meta.url));
const BUSY_LOOPS = 2;
const SESSION_MS = 6000;
const TICK_MS = 2000;
/** `undefined` is the default lease. Only that one has a promise. */
const LEASES_MS = [undefined, 500];
const ELECTIONS = 10;
const MINUTES = 10;
const QUICK_MINUTES = 0.25;

/** @typedef {{ begun: number, ended: Record<string, number> }} Terms */
/** @typedef {{ leaseMs: number | undefined, terms: Terms }} Counted */

/**
 * Counts the terms that end though their leader's process lives, while busy loops take the processors.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function falseTakeovers({ quick, say }) {
  const minutes = quick ? QUICK_MINUTES : MINUTES;
  const servers = await startServers({ tickMs: TICK_MS });
  const groups = LEASES_MS.map((leaseMs) => ({
    leaseMs,
    processes: [new Child(CANDIDATES), new Child(CANDIDATES)],
  }));
  /** @type {import('node:child_process').ChildProcess[]} */
  const busy = [];
  try {
    // The processes join one after the other, so that the first one leads in all elections and the second one waits.
    for (const { leaseMs, processes } of groups)
      for (const process of processes)
        await process.ask('join', {
          connect: servers.connect,
          path: `/lease-${leaseMs ?? 'default'}`,
          count: ELECTIONS,
          sessionTimeoutMs: SESSION_MS,
          leaseMs,
        });
    for (let at = 0; at < BUSY_LOOPS; at++) busy.push(fork(BUSY));
    say(`false takeovers: ${BUSY_LOOPS} busy loops for ${minutes} minutes`);
    await pause(minutes * 60_000);
    const counted = await Promise.all(
      groups.map(async ({ leaseMs, processes }) => ({
        leaseMs,
        terms: sum(await Promise.all(processes.map((process) => process.ask('terms')))),
      })),
    );
    return report(counted, minutes);
  } finally {
    for (const loop of busy) loop.kill('SIGKILL');
    await Promise.all(groups.flatMap(({ processes }) => processes.map((process) => process.end())));
    await servers.stop();
  }
}

/** @param {readonly Terms[]} terms of several processes @returns {Terms} */
export function sum(terms) {
  /** @type {Record<string, number>} */
  const ended = {};
  for (const each of terms)
    for (const [reason, count] of Object.entries(each.ended)) ended[reason] = (ended[reason] ?? 0) + count;
  return { begun: terms.reduce((all, { begun }) => all + begun, 0), ended };
}

/** @param {readonly Counted[]} counted @param {number} minutes @returns {import('../harness/finding.mjs').Finding} */
export function report(counted, minutes) {
  const total = (/** @type {Terms} */ { ended }) =>
    Object.values(ended).reduce((all, count) => all + count, 0);
  return {
    id: 'false-takeovers',
    title: `Terms that ended in ${rounded(minutes, 2)} minutes beside ${BUSY_LOOPS} busy loops, though no process did`,
    columns: ['lease ms', 'elections', 'terms that began', 'terms that ended', 'reasons'],
    table: counted.map(({ leaseMs, terms }) => [
      leaseMs ?? `${SESSION_MS / 3} (default)`,
      ELECTIONS,
      terms.begun,
      total(terms),
      Object.entries(terms.ended)
        .map(([reason, count]) => `${reason} ${count}`)
        .join(', ') || '–',
    ]),
    notes: [
      `Sessions of ${SESSION_MS / 1000} s, one server with ticks of ${TICK_MS / 1000} s; ${availableParallelism()} processors, which the loops, the server and all candidates share. For each lease there are two processes. Each has a candidate and a session in each election.`,
    ],
    data: { minutes, counted },
  };
}
