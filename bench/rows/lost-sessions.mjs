import { setTimeout as pause } from 'node:timers/promises';
import { besideProxy } from '../harness/candidates.mjs';
import { now } from '../harness/clock.mjs';
import { median, rounded, sum } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';
import { probesInPlaceOfPings, totals } from '../harness/traffic.mjs';

const SETTLE_MS = 1000;
const PINGS_PER_TIMEOUT = 5;

/**
 * Measures how long an election takes to recover when many supervisors lose their sessions at the same time, and how many
 * requests it takes.
 *
 * The row suspends their process until the server has expired all sessions, and then continues it. A proxy counts the requests
 * by kind, so that the row can leave out pings: their number depends on how long the recovery takes.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function lostSessions({ quick, say }) {
  const crowds = quick ? [30, 90] : [100, 300, 1000];
  const rounds = quick ? 1 : 3;
  const sessionTimeoutMs = quick ? 2000 : 6000;
  const servers = await startServers();
  /** @type {Recovery[]} */
  const recoveries = [];
  try {
    for (let round = 0; round < rounds; round++)
      for (const count of crowds) {
        const crowd = { path: `/lost-${count}-${round}`, count, sessionTimeoutMs };
        recoveries.push(await besideProxy(servers, (place) => recover(place, crowd)));
        say(`lost sessions: ${count} supervisors join again, round ${round + 1} of ${rounds}`);
      }
  } finally {
    await servers.stop();
  }
  return report(recoveries, sessionTimeoutMs);
}

/**
 * @typedef {object} Recovery
 * @property {number} count
 * @property {number} leaderMs from when the process continues until the last `elected`
 * @property {number} electedTimes
 * @property {number} joinedMs from when the process continues until the last waiting supervisor had joined the queue again
 * @property {Record<string, number>} requests
 * @property {number} probes existence probes of waiting supervisors in place of their pings
 * @property {number} notifications
 */

/**
 * @param {import('../harness/candidates.mjs').Place} place
 * @param {{ path: string, count: number, sessionTimeoutMs: number }} crowd
 * @returns {Promise<Recovery>}
 */
async function recover({ child, proxy, meter, connect }, { path, count, sessionTimeoutMs }) {
  await child.ask('supervise', { connect, path, count, sessionTimeoutMs });
  await pause(SETTLE_MS);
  child.freeze();
  while ((await meter.holdings()).ephemerals > 0) await pause(100);
  proxy.takeTraffic();
  const began = now();
  child.thaw();
  const { elected, joinedAt } = await child.ask('recovered');
  // If there is a second leader, it is elected within this time.
  await pause(SETTLE_MS);
  const lines = proxy.takeTraffic();
  await child.ask('leave');
  const pingEveryMs = sessionTimeoutMs / PINGS_PER_TIMEOUT;
  return {
    count,
    leaderMs: Math.max(...elected) - began,
    electedTimes: elected.length,
    joinedMs: joinedAt - began,
    requests: totals(lines),
    probes: sum(lines.map((line) => probesInPlaceOfPings(line, pingEveryMs))),
    notifications: sum(lines.map(({ notifications }) => notifications)),
  };
}

/** The requests of a supervisor, without those that depend only on the time. @param {Recovery} recovery */
function perCandidate({ requests, probes, count }) {
  const { ping: _, multi: __, ...asked } = requests;
  return (sum(Object.values(asked)) - probes) / count;
}

/** @param {Recovery[]} recoveries @param {number} sessionTimeoutMs @returns {import('../harness/finding.mjs').Finding} */
function report(recoveries, sessionTimeoutMs) {
  const takeoverMs = (sessionTimeoutMs / 3) * 1.03 + 50;
  const crowds = [...new Set(recoveries.map(({ count }) => count))];
  /** @param {number} crowd @param {number} digits @param {(recovery: Recovery) => number} what */
  const of = (crowd, digits, what) =>
    rounded(median(recoveries.filter(({ count }) => count === crowd).map(what)), digits);
  const kinds = Object.entries(recoveries.at(-1)?.requests ?? {}).map(([kind, count]) => `${kind} ${count}`);
  return {
    id: 'lost-sessions',
    title: 'All sessions of a crowd of supervisors lost at once',
    columns: [
      'supervisors',
      'until a leader, ms',
      'until all others wait, ms',
      'that, for each, ms',
      'requests each',
      'notifications each',
      'times elected',
    ],
    table: crowds.map((crowd) => [
      crowd,
      of(crowd, 0, ({ leaderMs }) => leaderMs),
      of(crowd, 0, ({ joinedMs }) => joinedMs),
      of(crowd, 2, ({ joinedMs }) => joinedMs / crowd),
      of(crowd, 2, perCandidate),
      of(crowd, 3, ({ notifications }) => notifications / crowd),
      of(crowd, 1, ({ electedTimes }) => electedTimes),
    ]),
    notes: [
      `Session timeout ${sessionTimeoutMs / 1000} s. The time begins when the process goes on. All its sessions have expired by then. ${Math.round(takeoverMs)} ms of the time until a leader are the takeover delay.`,
      'Requests are those that the loss causes. Those that are sent at regular times are not counted: heartbeats, pings, and existence probes in place of pings (no more of them than there would be pings).',
      `In the last round of ${crowds.at(-1)}: ${kinds.join(', ')}; ${recoveries.at(-1)?.probes} were probes in place of pings.`,
    ],
    data: recoveries,
  };
}
