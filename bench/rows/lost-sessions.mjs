import { setTimeout as pause } from 'node:timers/promises';
import { TcpProxy } from '../../test/support/faults/tcp-proxy.mjs';
import { Child } from '../harness/child.mjs';
import { median, rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';
import { probesInPlaceOfPings, totals } from '../harness/traffic.mjs';

const SCRIPT = new URL('processes/candidates.mjs', import.meta.url);
const SETTLE_MS = 1000;
const PINGS_PER_TIMEOUT = 5;

/**
 * Measures how long an election takes to recover when many supervisors lose their sessions at the same time, and how many
 * requests it takes.
 *
 * The row suspends their process until the server has expired all sessions, and then continues it. A proxy counts the requests
 * by kind, so that the row can leave out pings: their number depends on how long the recovery takes.
 *
 * @param {import('../harness/finding.mjs').Bench} bench
 * @returns {Promise<import('../harness/finding.mjs').Finding>}
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
        recoveries.push(
          await recover(servers.meter, {
            connect: servers.connect,
            path: `/lost-${count}-${round}`,
            count,
            sessionTimeoutMs,
          }),
        );
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
 * @param {import('../harness/meter.mjs').Meter} meter
 * @param {{ connect: string, path: string, count: number, sessionTimeoutMs: number }} place
 * @returns {Promise<Recovery>}
 */
async function recover(meter, { connect, path, count, sessionTimeoutMs }) {
  const proxy = await TcpProxy.start(connect);
  const child = new Child(SCRIPT);
  try {
    await child.ask('supervise', { connect: proxy.connectString, path, count, sessionTimeoutMs });
    await pause(SETTLE_MS);
    child.freeze();
    while ((await meter.holdings()).ephemerals > 0) await pause(100);
    proxy.takeTraffic();
    const began = Number(process.hrtime.bigint()) / 1e6;
    child.thaw();
    const { elected, joinedAt } = await child.ask('recovered');
    // If there is a second leader, it is elected within this time.
    await pause(SETTLE_MS);
    const lines = proxy.takeTraffic();
    await child.ask('leave');
    return {
      count,
      leaderMs: Math.max(...elected) - began,
      electedTimes: elected.length,
      joinedMs: joinedAt - began,
      requests: totals(lines),
      probes: lines.reduce(
        (sum, line) => sum + probesInPlaceOfPings(line, sessionTimeoutMs / PINGS_PER_TIMEOUT),
        0,
      ),
      notifications: lines.reduce((sum, line) => sum + line.notifications, 0),
    };
  } finally {
    await child.end();
    await proxy.stop();
  }
}

/** The requests of a supervisor, without those that depend only on the time. @param {Recovery} recovery */
function perCandidate({ requests, probes, count }) {
  const { ping: _, multi: __, ...asked } = requests;
  return (Object.values(asked).reduce((sum, each) => sum + each, 0) - probes) / count;
}

/** @param {Recovery[]} recoveries @param {number} sessionTimeoutMs @returns {import('../harness/finding.mjs').Finding} */
function report(recoveries, sessionTimeoutMs) {
  const takeoverMs = (sessionTimeoutMs / 3) * 1.03 + 50;
  const crowds = [...new Set(recoveries.map(({ count }) => count))];
  /** @param {number} crowd @param {(recovery: Recovery) => number} what */
  const of = (crowd, what) => median(recoveries.filter(({ count }) => count === crowd).map(what));
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
      rounded(
        of(crowd, ({ leaderMs }) => leaderMs),
        0,
      ),
      rounded(
        of(crowd, ({ joinedMs }) => joinedMs),
        0,
      ),
      rounded(
        of(crowd, ({ joinedMs }) => joinedMs / crowd),
        2,
      ),
      rounded(of(crowd, perCandidate), 2),
      rounded(
        of(crowd, ({ notifications }) => notifications / crowd),
        3,
      ),
      of(crowd, ({ electedTimes }) => electedTimes),
    ]),
    notes: [
      `Session timeout ${sessionTimeoutMs / 1000} s. The time begins when the process goes on. All its sessions have expired by then. ${Math.round(takeoverMs)} ms of the time until a leader are the takeover delay.`,
      'Requests are those that the loss causes. Those that are sent at regular times are not counted: heartbeats, pings, and existence probes in place of pings (no more of them than there would be pings).',
      `In the last round of ${crowds.at(-1)}: ${kinds.join(', ')}; ${recoveries.at(-1)?.probes} were probes in place of pings.`,
    ],
    data: recoveries,
  };
}
