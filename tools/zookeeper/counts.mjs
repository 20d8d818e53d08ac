import { fourLetterWord } from './four-letter-word.mjs';

/**
 * What ZooKeeper servers count, by their answers to `mntr`.
 *
 * @typedef {object} ServerCounts
 * @property {number} requests packets that all of them have received since they started; the question is one of them
 * @property {number} notifications watch notifications that all of them have sent
 * @property {number} watches that clients have set on any of them
 * @property {number} ephemerals ephemeral nodes, of which each server has all
 */

const NOTIFICATIONS = ['created', 'deleted', 'changed', 'children'].map(
  (event) => `zk_sum_node_${event}_watch_count`,
);

/**
 * Requests are counted by what a server has received, and notifications by the watches that it has fired, because a server
 * counts both before it answers. What it has sent, it counts after it has written it: a client may have its answer by then,
 * and ask for the count.
 *
 * @param {readonly number[]} ports the client ports of the servers
 * @returns {Promise<ServerCounts>}
 */
export async function serverCounts(ports) {
  const answers = await Promise.all(ports.map((port) => fourLetterWord(port, 'mntr')));
  const sum = (/** @type {string} */ name) =>
    answers.reduce((total, answer) => total + countIn(answer, name), 0);
  return {
    requests: sum('zk_packets_received'),
    notifications: NOTIFICATIONS.reduce((total, name) => total + sum(name), 0),
    watches: sum('zk_watch_count'),
    ephemerals: countIn(answers[0] ?? '', 'zk_ephemerals_count'),
  };
}

/**
 * The number of the newest transaction that any of the servers has carried out. A transaction is a write, or several that are carried out
 * together; the beginning and the end of a session, and a write that is refused, are transactions too.
 *
 * @param {readonly number[]} ports the client ports of the servers
 * @returns {Promise<number>} the number within the term of the leading server
 */
export async function lastTransaction(ports) {
  const answers = await Promise.all(ports.map((port) => fourLetterWord(port, 'srvr')));
  const zxids = answers.map((answer) => BigInt(/^Zxid: (0x[0-9a-f]+)$/im.exec(answer)?.[1] ?? 0));
  return Math.max(...zxids.map((zxid) => Number(zxid & 0xffff_ffffn)));
}

/** @param {string} answer @param {string} name */
function countIn(answer, name) {
  return Number(new RegExp(`^${name}\\s+(\\d+)`, 'm').exec(answer)?.[1] ?? Number.NaN);
}
