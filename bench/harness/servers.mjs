import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { Meter } from './meter.mjs';

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
