import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEtcdServer } from '../../tools/peers/etcd-server.mjs';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { startLinks } from './links.mjs';
import { Meter } from './meter.mjs';

/** @typedef {'tmpfs' | 'disk'} Storage in memory, or on disk with a sync at each write, as in production */

const HOST = '127.0.0.1';
const MEMORY = '/dev/shm';

/** Functions that stop the running servers. @type {Set<() => Promise<void>>} */
const running = new Set();

/** Stops all servers of this process and removes their data, when the benchmark is interrupted. */
export async function stopAllServers() {
  await Promise.all([...running].map((stop) => stop()));
}

/**
 * Starts ZooKeeper servers for a row of the benchmark.
 *
 * @param {object} [options]
 * @param {1 | 3} [options.count] how many servers
 * @param {Storage} [options.storage]
 * @param {number} [options.tickMs]
 * @param {Record<string, string | number>} [options.settings] more lines of `zoo.cfg`
 * @param {boolean} [options.isAway] whether clients reach them as if on other hosts
 */
export async function startServers({
  count = 1,
  storage = 'tmpfs',
  tickMs = 500,
  settings = {},
  isAway = false,
} = {}) {
  const { folder, remove } = await makeFolder(storage);
  const ensemble = await startZooKeeper({
    servers: count,
    tickMs,
    settings: {
      maxSessionTimeout: 86_400_000,
      forceSync: storage === 'disk' ? 'yes' : 'no',
      // So many that no server writes a snapshot during a measurement.
      snapCount: 10_000_000,
      ...settings,
    },
    machines: Array.from({ length: count }, (_, at) => ({
      host: HOST,
      folder: join(folder, String(at + 1)),
    })),
  });
  const stop = registeredStop(ensemble.stop, remove);
  const ports = ensemble.servers.map(({ port }) => port);
  const { servers, connectString: connect } = ensemble;
  const place = { servers, connect, meter: new Meter(ports), stop, notes: [] };
  if (!isAway) return place;
  const { stop: stopLinks, ...links } = await startLinks(ports);
  return { ...place, ...links, stop: () => stopLinks().then(stop) };
}

/** Starts a server of etcd, with its data in memory. */
export async function startEtcd() {
  const { folder, remove } = await makeFolder('tmpfs');
  const { address, stop } = await startEtcdServer(join(folder, 'etcd'));
  return { connect: address, stop: registeredStop(stop, remove) };
}

/** Makes a folder that is removed when the benchmark is interrupted. @param {Storage} storage */
async function makeFolder(storage) {
  const folder = await mkdtemp(join(storage === 'tmpfs' ? MEMORY : tmpdir(), 'conclave-bench-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  running.add(remove);
  return { folder, remove };
}

/** Returns a function that stops servers and removes their folder. It also runs when the benchmark is interrupted. @param {() => Promise<void>} end @param {() => Promise<void>} remove */
function registeredStop(end, remove) {
  const stop = async () => {
    await end();
    await remove();
    running.delete(stop);
  };
  running.add(stop);
  running.delete(remove);
  return stop;
}
