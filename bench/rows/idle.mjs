import { setTimeout as pause } from 'node:timers/promises';
import { TcpProxy } from '../../test/support/faults/tcp-proxy.mjs';
import { Child } from '../harness/child.mjs';
import { rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';
import { heartbeatsPerLease, totals } from '../harness/traffic.mjs';

/** @typedef {ReturnType<import('../../test/support/faults/traffic.mjs').Traffic['take']>} Counts */

const SCRIPT = new URL('processes/candidates.mjs', import.meta.url);
const PINGS_PER_TIMEOUT = 5;
const HEARTBEATS_PER_LEASE = 4;
const PROBES_PER_LEASE = 2; // A session that heartbeats sends a probe with every second heartbeat.
const SETTLE_MS = 1500;

/**
 * Measures what a thousand waiting candidates and their leader send while nothing happens.
 *
 * @param {import('../harness/finding.mjs').Bench} bench
 * @returns {Promise<import('../harness/finding.mjs').Finding>}
 */
export default async function idle({ quick, say }) {
  // The timeout of a full run is so long that no lease ends if the machine pauses for two seconds.
  const sessionMs = quick ? 6000 : 10_000;
  const timeouts = quick ? 1 : 5;
  const waiting = quick ? 200 : 1000;
  const servers = await startServers();
  const proxy = await TcpProxy.start(servers.connect);
  const child = new Child(SCRIPT);
  try {
    const count = waiting + 1;
    await child.ask('join', {
      connect: proxy.connectString,
      path: '/idle',
      count,
      sessionTimeoutMs: sessionMs,
    });
    say(`idle: ${waiting} candidates wait`);
    await pause(SETTLE_MS);
    proxy.takeTraffic();
    const before = await child.ask('cpuMs');
    const traffic = await servers.meter.during(() => pause(timeouts * sessionMs));
    const after = await child.ask('cpuMs');
    const lines = proxy.takeTraffic();
    const elapsedMs = after.atMs - before.atMs;
    return report({ sessionMs, lines, traffic, elapsedMs, cpuMs: after.cpuMs - before.cpuMs });
  } finally {
    await child.end();
    await proxy.stop();
    await servers.stop();
  }
}

/**
 * @param {{ sessionMs: number, lines: Counts[], traffic: import('../harness/meter.mjs').Traffic,
 *   elapsedMs: number, cpuMs: number }} measured
 * @returns {import('../harness/finding.mjs').Finding}
 */
function report({ sessionMs, lines, traffic, elapsedMs, cpuMs }) {
  // Many sessions are opened at the same time. Only a session's requests show whether it is the leader's.
  const beating = lines.filter(({ multisAt }) => multisAt.length > 0);
  const quiet = lines.filter(({ multisAt }) => multisAt.length === 0);
  // The third in line follows the leader's heartbeats too, so it reads more often than the candidates that only probe.
  const third = quiet.reduce((most, line) => (readsOf(line) > readsOf(most) ? line : most));
  const waiting = quiet.filter((line) => line !== third);
  const sent = totals(waiting);
  // In place of a ping, a waiting candidate checks that the second predecessor's node exists, or reads the record.
  const { ping: pings = 0, exists = 0, getData: recordReads = 0, ...others } = sent;
  const probes = exists + recordReads;
  const timeouts = elapsedMs / sessionMs;
  const leaseMs = sessionMs / 3;
  const each = (/** @type {number} */ count) => count / waiting.length / timeouts;
  const notifications = lines.reduce((sum, line) => sum + line.notifications, 0);
  const perLease = Math.max(...beating.map(({ multisAt }) => heartbeatsPerLease(multisAt, leaseMs)));
  const besidesHeartbeats = sum(totals(beating)) - (totals(beating).multi ?? 0);
  const leases = elapsedMs / leaseMs;
  const ofNext = besidesHeartbeats / leases;
  const ofThird = sum(totals([third])) / leases;
  return {
    id: 'idle',
    title: `What ${lines.length - 1} waiting candidates and a leader send while nothing happens`,
    columns: ['who', 'sends', 'each, per session timeout', 'each, per lease'],
    table: [
      ['the leader and the next in line', 'heartbeats', rounded(3 * perLease, 2), rounded(perLease, 2)],
      [
        'the next in line',
        "reads of the leader's heartbeat node",
        rounded(3 * ofNext, 2),
        rounded(ofNext, 2),
      ],
      ['the third in line', 'the same, and probes', rounded(3 * ofThird, 2), rounded(ofThird, 2)],
      [`the ${waiting.length} others`, 'pings', rounded(each(pings), 2), rounded(each(pings) / 3, 2)],
      [
        'the others',
        'an existence probe or a read of the record, in place of a ping',
        rounded(each(probes), 2),
        rounded(each(probes) / 3, 2),
      ],
      ['the others', 'anything else', sum(others), sum(others)],
      ['the server, to all of them', 'notifications', notifications, notifications],
    ],
    bars: [
      {
        what: 'requests of waiting candidates, other than pings and probes in their place',
        measured: sum(others),
        bar: 0,
      },
      {
        what: 'pings and probes of a waiting candidate, per session timeout',
        measured: rounded(each(pings + probes), 2),
        bar: PINGS_PER_TIMEOUT,
      },
      {
        what: 'heartbeats of a leader, per lease',
        measured: rounded(perLease, 2),
        bar: HEARTBEATS_PER_LEASE,
      },
      { what: 'sessions that heartbeat: the leader, and the next in line', measured: beating.length, bar: 2 },
      {
        what: 'other requests of these, per lease: one read with each heartbeat of the next in line',
        measured: rounded(ofNext, 2),
        bar: HEARTBEATS_PER_LEASE,
      },
      {
        what: 'requests of the third in line, per lease: as many reads, and its probes',
        measured: rounded(ofThird, 2),
        bar: HEARTBEATS_PER_LEASE + PROBES_PER_LEASE,
      },
      { what: 'notifications', measured: notifications, bar: 0 },
    ],
    notes: [
      `${rounded(elapsedMs / 1000)} s with session timeouts of ${sessionMs / 1000} s, so leases of ${rounded(leaseMs / 1000)} s. Each contender has a session. All are in one process.`,
      `The server counted ${traffic.requests} requests and ${traffic.notifications} notifications meanwhile. A proxy in front of it counted the kinds: ${sum(totals(lines))} requests.`,
      `The process took ${rounded((100 * cpuMs) / elapsedMs)} % of a core for all ${lines.length}.`,
      "The next two in line read the version of the leader's heartbeat node with each heartbeat, four times in a lease.",
      'The next in line sends heartbeats as the leader does. So it has a lease already when it is notified.',
    ],
    data: { elapsedMs, cpuMs, traffic, waiting: sent, beating },
  };
}

/** @param {Counts} line */
function readsOf(line) {
  return totals([line]).exists ?? 0;
}

/** @param {Record<string, number>} counts */
function sum(counts) {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
