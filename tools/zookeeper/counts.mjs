import { fourLetterWord } from './four-letter-word.mjs';

/**
 * The counts of ZooKeeper servers, from their answers to `mntr`.
 *
 * @typedef {object} ServerCounts
 * @property {number} requests packets that all servers have received since they started, with the question `mntr` itself
 * @property {number} notifications watch notifications that all servers have sent
 * @property {number} watches watches that clients have set on any server
 * @property {number} ephemerals ephemeral nodes; each server has all of them
 * @property {number} znodes all nodes, with those of ZooKeeper itself
 */

const NOTIFICATIONS = ['created', 'deleted', 'changed', 'children'].map(
  (event) => `zk_sum_node_${event}_watch_count`,
);

/**
 * Reads the counts of the servers. Counts packets received and watches fired, because a server counts both before it answers.
 * A server counts a packet sent only after it has written the packet. By then a client may have its answer, and may have asked
 * for the count.
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
    znodes: countIn(answers[0] ?? '', 'zk_znode_count'),
  };
}

/**
 * The number of the newest transaction that any of the servers has carried out. A transaction is one write, or several writes that
 * the servers carry out together. The beginning and the end of a session, and a refused write, are transactions too.
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
