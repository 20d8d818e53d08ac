import { setTimeout as pause } from 'node:timers/promises';
import { TcpProxy } from '../../../test/support/faults/tcp-proxy.mjs';
import { startServers } from '../../harness/servers.mjs';
import { totals } from '../../harness/traffic.mjs';
import { Group } from './group.mjs';

export const WORKERS = 8;
const NUMBERS_OF_SHARDS = /** @type {const} */ ([64, 4096]);
// Within this time the planner also does its one-time work, such as removing what a start has left.
const SETTLE_MS = 3000;

/**
 * The requests of a group while nothing happens.
 *
 * @typedef {object} Idle
 * @property {number} shards
 * @property {number} leases the duration of the count, in leases
 * @property {number} operations requests without pings, by the server's count
 * @property {Record<string, number>} kinds requests by kind, by a proxy's count
 */

/**
 * Counts for all numbers of shards at the same time, each on a server of its own.
 *
 * @param {{ sessionMs: number, leases: number }} plan
 * @returns {Promise<Idle[]>}
 */
export async function measureIdle(plan) {
  return await Promise.all(NUMBERS_OF_SHARDS.map((shards) => measureOne({ shards, ...plan })));
}

/** @param {{ shards: number, sessionMs: number, leases: number }} plan @returns {Promise<Idle>} */
async function measureOne({ shards, sessionMs, leases }) {
  const servers = await startServers();
  const proxy = await TcpProxy.start(servers.connect);
  const group = new Group({ connect: proxy.connectString, shards, sessionMs });
  const leaseMs = sessionMs / 3;
  try {
    // The members join one after the other. If they join at the same time, one member more may take itself for one of the next two in
    // line, and watch the others too. That doesn't depend on the number of shards.
    for (let joined = 0; joined < WORKERS; joined++) await group.join(1);
    await group.untilOwned();
    await pause(SETTLE_MS);
    let elapsedMs = Number.NaN;
    const operations = await servers.meter.operationsDuring(async () => {
      proxy.takeTraffic();
      const began = performance.now();
      await pause(leases * leaseMs);
      elapsedMs = performance.now() - began;
    });
    const lines = proxy.takeTraffic();
    return { shards, leases: elapsedMs / leaseMs, operations, kinds: totals(lines) };
  } finally {
    await group.end();
    await proxy.stop();
    await servers.stop();
  }
}

/** Requests of the whole group in a lease. @param {Idle} idle */
export function operationsPerLease({ operations, leases }) {
  return operations / leases;
}
