import { setTimeout as pause } from 'node:timers/promises';
import { TcpProxy } from '../../test/support/faults/tcp-proxy.mjs';
import { Child } from './child.mjs';
import { startServers } from './servers.mjs';

const SCRIPT = new URL('../rows/processes/candidates.mjs', import.meta.url);

/** @typedef {{ child: Child, proxy: TcpProxy, connect: string, meter: import('./meter.mjs').Meter }} Place */

/**
 * Calls `task` with a process for many candidates, which reaches a server through a proxy that counts requests by kind.
 *
 * @template T
 * @param {(place: Place) => Promise<T>} task
 */
export async function withCandidates(task) {
  const servers = await startServers();
  try {
    return await besideProxy(servers, task);
  } finally {
    await servers.stop();
  }
}

/**
 * As {@link withCandidates}, on a server that runs.
 *
 * @template T
 * @param {Pick<Place, 'connect' | 'meter'>} servers
 * @param {(place: Place) => Promise<T>} task
 */
export async function besideProxy({ connect, meter }, task) {
  const proxy = await TcpProxy.start(connect);
  const child = new Child(SCRIPT);
  try {
    return await task({ child, proxy, connect: proxy.connectString, meter });
  } finally {
    await child.end();
    await proxy.stop();
  }
}

/** What the process and the server do meanwhile. @param {Place} place @param {number} forMs */
export async function watched({ child, proxy, meter }, forMs) {
  proxy.takeTraffic();
  const before = await child.ask('cpuMs');
  const traffic = await meter.during(() => pause(forMs));
  const after = await child.ask('cpuMs');
  /** @type {number} */
  const elapsedMs = after.atMs - before.atMs;
  /** @type {number} */
  const cpuMs = after.cpuMs - before.cpuMs;
  return { lines: proxy.takeTraffic(), traffic, elapsedMs, cpuMs };
}
