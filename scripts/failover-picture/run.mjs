/** Runs three replicas, kills one leader, stops another leader, and measures which replica led when. */
import { fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedZooKeeper } from 'conclave/testing';

const LEADS_FOR_MS = 2500;
const TAKES_AT_MOST_MS = 20_000;

/**
 * @typedef {object} LedTerm
 * @property {string} id
 * @property {number} fromMs the first moment at which the replica reported that it leads
 * @property {number} toMs the last such moment
 * @property {number} leaseEndMs the end of the lease by the last report
 *
 * @typedef {object} Run with times in milliseconds from the first report of a leader
 * @property {readonly string[]} ids
 * @property {readonly LedTerm[]} terms
 * @property {number} killedAtMs
 * @property {number} terminatedAtMs
 * @property {number} endMs
 */

const now = () => Number(process.hrtime.bigint()) / 1e6;

/** @returns {Promise<Run>} */
export async function run() {
  const server = await EmbeddedZooKeeper.start();
  const reports = new EventEmitter();
  /** @type {LedTerm[]} */
  const terms = [];
  /** @type {Map<string, import('node:child_process').ChildProcess>} */
  const children = new Map();
  const signal = AbortSignal.timeout(TAKES_AT_MOST_MS);
  try {
    for (const id of ['A', 'B', 'C']) {
      const child = fork(join(import.meta.dirname, 'replica.mjs'), [server.connectString, id], {
        env: { ...process.env, CONCLAVE_LOG_LEVEL: 'silent' },
      });
      children.set(id, child);
      child.on('message', (/** @type {any} */ message) => {
        if (message.event === 'fails') reports.emit('error', new Error(message.message));
        if (message.event === 'leads') note(terms, message);
        reports.emit(message.event, message.id);
      });
      // The replicas join one after the other, so that they lead in this order. The first one leads at once.
      const joined = id === 'A' ? once(reports, 'leads', { signal }) : once(reports, 'waits', { signal });
      await joined;
    }
    const leaderAfter = async (/** @type {number} */ count) => {
      while (terms.length <= count) await once(reports, 'leads', { signal });
      return /** @type {LedTerm} */ (terms[count]);
    };
    const child = (/** @type {LedTerm} */ { id }) =>
      /** @type {import('node:child_process').ChildProcess} */ (children.get(id));

    const first = await leaderAfter(0);
    await sleep(LEADS_FOR_MS);
    const killedAt = now();
    child(first).kill('SIGKILL');
    const second = await leaderAfter(1);
    await sleep(LEADS_FOR_MS);
    const terminatedAt = now();
    child(second).kill('SIGTERM');
    const third = await leaderAfter(2);
    await sleep(LEADS_FOR_MS);
    const end = now();
    return {
      ids: [...children.keys()],
      terms: [first, second, third].map((term) => ({
        id: term.id,
        fromMs: term.fromMs - first.fromMs,
        toMs: term.toMs - first.fromMs,
        leaseEndMs: term.leaseEndMs - first.fromMs,
      })),
      killedAtMs: killedAt - first.fromMs,
      terminatedAtMs: terminatedAt - first.fromMs,
      endMs: end - first.fromMs,
    };
  } finally {
    for (const each of children.values()) each.kill('SIGKILL');
    await server.stop();
  }
}

/**
 * Adds a report to the last term, or begins a new term if another replica leads.
 *
 * @param {LedTerm[]} terms
 * @param {{ id: string, atMs: number, remainingMs: number }} report
 */
export function note(terms, { id, atMs, remainingMs }) {
  const last = terms.at(-1);
  const leaseEndMs = atMs + remainingMs;
  if (last?.id === id) Object.assign(last, { toMs: atMs, leaseEndMs });
  else terms.push({ id, fromMs: atMs, toMs: atMs, leaseEndMs });
}
