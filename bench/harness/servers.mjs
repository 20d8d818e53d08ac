import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { fourLetterWord } from '../../tools/zookeeper/four-letter-word.mjs';

/** @typedef {'tmpfs' | 'disk'} Storage in memory, or on a disk that is waited for at each write, as in production */

const HOST = '127.0.0.1';
const MEMORY = '/dev/shm';

/** What ends those that run. @type {Set<() => Promise<void>>} */
const running = new Set();

/** Ends all servers of this process, and removes what they wrote: for one that is interrupted. */
export async function stopAllServers() {
  await Promise.all([...running].map((stop) => stop()));
}

/**
 * A ZooKeeper of the benchmark's own, which nobody else uses.
 *
 * @param {object} [options]
 * @param {1 | 3} [options.count] how many servers
 * @param {Storage} [options.storage]
 * @param {number} [options.tickMs]
 * @param {Record<string, string | number>} [options.settings] more lines of `zoo.cfg`
 */
export async function startServers({ count = 1, storage = 'tmpfs', tickMs = 500, settings = {} } = {}) {
  const folder = await mkdtemp(join(storage === 'tmpfs' ? MEMORY : tmpdir(), 'conclave-bench-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  running.add(remove);
  const ensemble = await startZooKeeper({
    servers: count,
    tickMs,
    settings: {
      maxSessionTimeout: 86_400_000,
      forceSync: storage === 'disk' ? 'yes' : 'no',
      // A handover is over before a snapshot of everything could be written beside it.
      snapCount: 10_000_000,
      ...settings,
    },
    machines: Array.from({ length: count }, (_, at) => ({
      host: HOST,
      folder: join(folder, String(at + 1)),
    })),
  });
  const stop = async () => {
    await ensemble.stop();
    await remove();
    running.delete(stop);
  };
  running.add(stop);
  running.delete(remove);
  return {
    connect: ensemble.connectString,
    meter: new Meter(ensemble.servers.map(({ port }) => port)),
    stop,
  };
}

/** @typedef {{ requests: number, notifications: number }} Traffic */
/** @typedef {{ ephemerals: number, watches: number }} Holdings */

/** What the servers have received from their clients and sent to them, by their own counts. */
export class Meter {
  /** @type {readonly number[]} */
  #ports;
  /** What the servers count of one question. They count others' requests with it, so it is the least that was seen. */
  #asking = Number.POSITIVE_INFINITY;

  /** @param {readonly number[]} ports */
  constructor(ports) {
    this.#ports = ports;
  }

  /**
   * What the servers did while `task` ran. Each request has one reply, so what was sent beyond the replies is
   * notifications: of watches, by the server's own count of those.
   *
   * @param {() => Promise<unknown>} task
   * @returns {Promise<Traffic>}
   */
  async during(task) {
    const earlier = await this.#counts();
    const before = await this.#counts();
    this.#asking = Math.min(this.#asking, difference(before, earlier).requests);
    await task();
    const { requests, notifications } = difference(await this.#counts(), before);
    return { requests: requests - this.#asking, notifications };
  }

  /**
   * How many operations were asked for by those connections that are open at the end of `task`, while it ran: by the number
   * that each carries. Pings carry none, and some clients send them every ten seconds however long their session.
   *
   * @param {() => Promise<unknown>} task
   */
  async operationsDuring(task) {
    const before = await this.#lastOperations();
    await task();
    let operations = 0;
    for (const [session, last] of await this.#lastOperations())
      operations += last - (before.get(session) ?? 0);
    return operations;
  }

  /** The number of the last operation of each session. @returns {Promise<Map<string, number>>} */
  async #lastOperations() {
    const reports = await Promise.all(this.#ports.map((port) => fourLetterWord(port, 'cons')));
    const sessions = reports.join('').matchAll(/\bsid=(0x\w+),.*\blcxid=0x(\w+)/g);
    // One that has asked for nothing isn't among them.
    return new Map([...sessions].map(([, session = '', last = '']) => [session, Number.parseInt(last, 16)]));
  }

  /** What the servers keep: all nodes that end with a session, and the watches at each of them. @returns {Promise<Holdings>} */
  async holdings() {
    const reports = await this.#reports();
    return {
      // Each of them has all nodes.
      ephemerals: sum(reports.slice(0, 1), /^zk_ephemerals_count\s+(\d+)/m),
      watches: sum(reports, /^zk_watch_count\s+(\d+)/m),
    };
  }

  async #reports() {
    return await Promise.all(this.#ports.map((port) => fourLetterWord(port, 'mntr')));
  }

  /** @returns {Promise<Traffic>} */
  async #counts() {
    const reports = await this.#reports();
    return {
      requests: sum(reports, /^zk_packets_received\s+(\d+)/m),
      notifications:
        sum(reports, /^zk_sum_node_created_watch_count\s+(\d+)/m) +
        sum(reports, /^zk_sum_node_deleted_watch_count\s+(\d+)/m) +
        sum(reports, /^zk_sum_node_changed_watch_count\s+(\d+)/m) +
        sum(reports, /^zk_sum_node_children_watch_count\s+(\d+)/m),
    };
  }
}

/** @param {readonly string[]} reports @param {RegExp} pattern */
function sum(reports, pattern) {
  return reports.reduce((total, report) => total + Number(pattern.exec(report)?.[1] ?? Number.NaN), 0);
}

/** @param {Traffic} after @param {Traffic} before @returns {Traffic} */
function difference(after, before) {
  return {
    requests: after.requests - before.requests,
    notifications: after.notifications - before.notifications,
  };
}
