import { setTimeout as pause } from 'node:timers/promises';
import { TcpProxy } from '../../test/support/faults/tcp-proxy.mjs';
import { Child } from '../harness/child.mjs';
import { rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';
import { totals } from '../harness/traffic.mjs';

const SCRIPT = new URL('processes/candidates.mjs', import.meta.url);
const SESSION_MS = 6000;
const LEASE_MS = SESSION_MS / 3;
const SETTLE_MS = 2000;

/**
 * Measures ten thousand elections on one session, which leads all of them: their start, the cost of their heartbeats, and their
 * end.
 *
 * @param {import('../harness/finding.mjs').Bench} bench
 * @returns {Promise<import('../harness/finding.mjs').Finding>}
 */
export default async function manyElections({ quick, say }) {
  const count = quick ? 1000 : 10_000;
  const watchedMs = quick ? 2000 : 10_000;
  const servers = await startServers();
  const proxy = await TcpProxy.start(servers.connect);
  const child = new Child(SCRIPT);
  try {
    const started = await child.ask('standInMany', {
      connect: proxy.connectString,
      path: '/many',
      count,
      sessionTimeoutMs: SESSION_MS,
    });
    const starting = totals(proxy.takeTraffic());
    say(`many elections: ${count} led after ${Math.round(started.tookMs)} ms`);
    await pause(SETTLE_MS);
    proxy.takeTraffic();
    const before = await child.ask('cpuMs');
    const traffic = await servers.meter.during(() => pause(watchedMs));
    const after = await child.ask('cpuMs');
    const lines = proxy.takeTraffic();
    const leading = await child.ask('leading');
    const stopMs = await child.ask('stop');
    const seconds = (after.atMs - before.atMs) / 1000;
    return report({
      count,
      started,
      starting,
      leading,
      stopMs,
      requestsPerSecond: traffic.requests / seconds,
      bytesPerSecond: lines.reduce((sum, { bytesIn, bytesOut }) => sum + bytesIn + bytesOut, 0) / seconds,
      heartbeats: totals(lines),
      cpuShare: (after.cpuMs - before.cpuMs) / 1000 / seconds,
    });
  } finally {
    await child.end();
    await proxy.stop();
    await servers.stop();
  }
}

/**
 * @param {{ count: number, started: { tookMs: number, suspended: number }, starting: Record<string, number>, leading: number,
 *   stopMs: number, requestsPerSecond: number, bytesPerSecond: number, heartbeats: Record<string, number>, cpuShare: number }} measured
 * @returns {import('../harness/finding.mjs').Finding}
 */
function report(measured) {
  const { count, started, starting, leading, stopMs, requestsPerSecond, bytesPerSecond, cpuShare } = measured;
  const kinds = Object.entries(starting).map(([kind, asked]) => `${kind} ${asked}`);
  return {
    id: 'many-elections',
    title: `${count} elections on one session, all led by it`,
    columns: ['', ''],
    table: [
      ['start of all, s', rounded(started.tookMs / 1000, 2)],
      ['end of all, s', rounded(stopMs / 1000, 2)],
      ['led after the start', leading],
      ['heartbeats: requests a second', rounded(requestsPerSecond)],
      ['heartbeats: kB a second, both ways', rounded(bytesPerSecond / 1000, 0)],
      ["heartbeats: % of one of the client's cores", rounded(100 * cpuShare)],
    ],
    notes: [
      `Session timeout ${SESSION_MS / 1000} s, so leases of ${LEASE_MS / 1000} s and a heartbeat each ${LEASE_MS / 4} ms, which confirms up to 200 nodes with one request.`,
      '500 are started at a time, and all are stopped at the same time. None of their paths existed before.',
      `Asked at the start: ${kinds.join(', ')}.`,
    ],
    data: measured,
  };
}
