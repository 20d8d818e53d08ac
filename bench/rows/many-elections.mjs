import { setTimeout as pause } from 'node:timers/promises';
import { watched, withCandidates } from '../harness/candidates.mjs';
import { rounded } from '../harness/quantiles.mjs';
import { totals } from '../harness/traffic.mjs';

const SESSION_MS = 6000;
const LEASE_MS = SESSION_MS / 3;
const SETTLE_MS = 2000;

/**
 * Measures ten thousand elections on one session, which leads all of them: their start, the cost of their heartbeats, and their
 * end.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function manyElections({ quick, say }) {
  const count = quick ? 1000 : 10_000;
  const watchedMs = quick ? 2000 : 10_000;
  return await withCandidates(async (place) => {
    const { child, connect, proxy } = place;
    const crowd = { connect, path: '/many', count, sessionTimeoutMs: SESSION_MS };
    const started = await child.ask('standInMany', crowd);
    const starting = totals(proxy.takeTraffic());
    say(`many elections: ${count} led after ${Math.round(started.tookMs)} ms`);
    await pause(SETTLE_MS);
    const { lines, traffic, elapsedMs, cpuMs } = await watched(place, watchedMs);
    const seconds = elapsedMs / 1000;
    return report({
      count,
      started,
      starting,
      leading: await child.ask('leading'),
      stopMs: await child.ask('stop'),
      requestsPerSecond: traffic.requests / seconds,
      bytesPerSecond: lines.reduce((sum, { bytesIn, bytesOut }) => sum + bytesIn + bytesOut, 0) / seconds,
      heartbeats: totals(lines),
      cpuShare: cpuMs / elapsedMs,
    });
  });
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
