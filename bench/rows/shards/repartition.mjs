import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Session } from 'conclave';
import { findKazoo } from '../../../tools/peers/installed.mjs';
import { startServers } from '../../harness/servers.mjs';
import { Group } from './group.mjs';
import { changeOf, gapsOf } from './history.mjs';
import { measureJoins } from './joins.mjs';

/** @import { ShardEvent } from './history.mjs' */

const PROGRAM = join(import.meta.dirname, '../../peers/kazoo_partitioner.py');
export const MEMBERS = 10;
export const PIECES = 1000;
// So long that no heartbeats are counted.
const DAY_MS = 86_400_000;
const KAZOO_SESSION_MS = 10_000;
const MOST_BYTES = 2 ** 26;

/** @typedef {{ who: string, moved: number, interrupted: number, gapsMs: number[], spanMs: number }} Repartition */
/** @typedef {{ moved: number, recordWrites: number, transactions: number, operations: number }} Writes of one join, as servers count them */

/** @param {string} who @param {readonly ShardEvent[]} events @returns {Repartition} */
export function repartitionOf(who, events) {
  const { moved, interrupted, spanMs } = changeOf(events);
  return { who, moved: moved.length, interrupted, gapsMs: gapsOf(events), spanMs };
}

/**
 * Lets one more worker join those of Conclave, and measures the changes and their cost.
 *
 * @param {number} rounds
 * @returns {Promise<{ repartitions: Repartition[], writes: Writes[] }>}
 */
export async function measureConclave(rounds) {
  const servers = await startServers();
  const { connect, meter } = servers;
  const group = new Group({ connect, shards: PIECES, sessionMs: DAY_MS });
  const session = await Session.connect(connect);
  /** @type {Omit<Writes, 'moved'>[]} */
  const costs = [];
  try {
    await group.join(MEMBERS);
    await group.untilOwned();
    const { joins, events } = await measureJoins(group, MEMBERS, rounds, async (joinOne) => {
      await meter.quiet();
      const before = await recordVersions(session, '/group/shards');
      let transactions = Number.NaN;
      const operations = await meter.operationsDuring(async () => {
        transactions = await meter.transactionsDuring(async () => {
          await joinOne();
          await meter.quiet();
        });
      });
      const recordWrites = (await recordVersions(session, '/group/shards')) - before;
      costs.push({ recordWrites, transactions, operations });
    });
    return {
      repartitions: events.map((each) => repartitionOf('Conclave', each)),
      writes: costs.map((cost, at) => ({ moved: joins[at]?.moved ?? Number.NaN, ...cost })),
    };
  } finally {
    await session.close();
    await group.end();
    await servers.stop();
  }
}

/** The number of writes of all records below a node. @param {Session} session @param {string} parent */
async function recordVersions(session, parent) {
  const names = await session.getChildren(parent);
  const records = await Promise.all(names.map((name) => session.getData(`${parent}/${name}`)));
  return records.reduce((sum, { stat }) => sum + stat.version, 0);
}

/**
 * Lets one more worker join those of kazoo's SetPartitioner, and measures the changes.
 *
 * @param {number} timeBoundaryS how many seconds it waits for more changes
 * @param {(text: string) => void} say called with the reason if kazoo is left out
 * @returns {Promise<Repartition | undefined>} `undefined` if kazoo isn't available
 */
export async function measureKazoo(timeBoundaryS, say) {
  /** @type {string[]} */
  let command;
  try {
    command = findKazoo();
  } catch (error) {
    say(`kazoo SetPartitioner is left out. ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
  const servers = await startServers();
  try {
    const settings = [servers.connect, KAZOO_SESSION_MS, MEMBERS, PIECES, timeBoundaryS].map(String);
    return repartitionOf('kazoo SetPartitioner', await eventsOf([...command, PROGRAM, ...settings]));
  } finally {
    await servers.stop();
  }
}

/** Runs a program that prints events as JSON. It ends with this process, too, by the end of its input. @param {string[]} command @returns {Promise<ShardEvent[]>} */
async function eventsOf([program = '', ...args]) {
  const { stdout } = await promisify(execFile)(program, args, { maxBuffer: MOST_BYTES });
  return JSON.parse(stdout);
}
