import { setTimeout as pause } from 'node:timers/promises';
import { watched, withCandidates } from '../harness/candidates.mjs';
import { rounded } from '../harness/quantiles.mjs';
import { totals } from '../harness/traffic.mjs';

/** @typedef {ReturnType<import('../../test/support/faults/traffic.mjs').Traffic['take']>} Counts */

const READS = ['ping', 'exists', 'getData', 'getChildren'];
/** Those that follow the leader's heartbeats. */
const NEXT = 2;
const SETTLE_MS = 1500;

/**
 * Measures what a thousand waiting candidates and their leader send while nothing happens.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function idle({ quick, say }) {
  // The timeout of a full run is so long that no lease ends if the machine pauses for two seconds.
  const sessionMs = quick ? 6000 : 10_000;
  const timeouts = quick ? 1 : 5;
  const waiting = quick ? 200 : 1000;
  return await withCandidates(async (place) => {
    const { child, connect } = place;
    await child.ask('join', { connect, path: '/idle', count: waiting + 1, sessionTimeoutMs: sessionMs });
    say(`idle: ${waiting} candidates wait`);
    await pause(SETTLE_MS);
    return report({ sessionMs, ...(await watched(place, timeouts * sessionMs)) });
  });
}

/** @param {{ sessionMs: number } & Awaited<ReturnType<typeof watched>>} measured @returns {import('../harness/finding.mjs').Finding} */
function report({ sessionMs, lines, traffic, elapsedMs, cpuMs }) {
  // Many sessions are opened at the same time. Only their requests show whose they are.
  const busiest = lines.toSorted((one, other) => requestsOf(other) - requestsOf(one));
  const leader = lines.reduce((most, line) => (writesOf(line) > writesOf(most) ? line : most));
  const waiting = busiest.filter((line) => line !== leader);
  const [next, others] = [waiting.slice(0, NEXT), waiting.slice(NEXT)];
  const leaseMs = sessionMs / 3;
  /** @param {string} who @param {string} what @param {number} count @returns {(string | number)[]} */
  const perTime = (who, what, count) => [
    ...[who, what],
    ...[sessionMs, leaseMs].map((ms) => rounded((count / elapsedMs) * ms, 2)),
  ];
  const each = (/** @type {Counts[]} */ some) =>
    some.reduce((all, line) => all + requestsOf(line) - writesOf(line), 0) / some.length;
  const notifications = lines.reduce((all, line) => all + line.notifications, 0);
  return {
    id: 'idle',
    title: `What ${lines.length - 1} waiting candidates and a leader send while nothing happens`,
    columns: ['who', 'sends', 'each, per session timeout', 'each, per lease'],
    table: [
      perTime('the leader', 'heartbeats', writesOf(leader)),
      perTime('the next two in line', "reads of the leader's heartbeat node, probes and pings", each(next)),
      perTime(`the ${others.length} others`, 'probes and pings', each(others)),
      perTime(
        'all that wait',
        'writes',
        waiting.reduce((all, line) => all + writesOf(line), 0),
      ),
      perTime('the server, to all of them', 'notifications', notifications),
    ],
    notes: [
      `${rounded(elapsedMs / 1000)} s with session timeouts of ${sessionMs / 1000} s, so leases of ${rounded(leaseMs / 1000)} s. Each contender has a session. All are in one process.`,
      `The server counted ${traffic.requests} requests and ${traffic.notifications} notifications meanwhile. A proxy in front of it counted the kinds: ${sum(totals(lines))} requests.`,
      `The process took ${rounded((100 * cpuMs) / elapsedMs)} % of a core for all ${lines.length}.`,
      "The next two in line read the version of the leader's heartbeat node four times in a lease.",
      'A probe takes the place of a ping: it checks that a node in the queue exists, or reads the record.',
    ],
    data: { elapsedMs, cpuMs, traffic, leader, others: totals(others) },
  };
}

/** @param {Counts} line */
function requestsOf({ requests }) {
  return sum(requests);
}

/** @param {Counts} line */
function writesOf({ requests }) {
  return Object.entries(requests).reduce((all, [kind, count]) => all + (READS.includes(kind) ? 0 : count), 0);
}

/** @param {Record<string, number>} counts */
function sum(counts) {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
