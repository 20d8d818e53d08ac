/** What README and docs promise, as far as a figure can show it. */
import { rounded } from '../harness/quantiles.mjs';
import { figuresOf } from './figures.mjs';

/** @import { Finding } from '../harness/finding.mjs' */
/** @import { Figures } from './figures.mjs' */

/**
 * @typedef {object} Promised
 * @property {string} row which measures it
 * @property {string} promise a sentence that contains the limit
 * @property {(figures: Figures) => number} measured
 * @property {number} limit the highest value with which the promise is kept
 * @property {true} [atLeast] it is the lowest one
 * @property {string} unit
 *
 * @typedef {object} Judged
 * @property {string} promise
 * @property {string} measured
 * @property {'yes' | '**no**' | 'not measured'} kept
 */

const FAILURES = ['kill -9', 'SIGSTOP', 'its link is silent, both ways'];
const PEERS = ['Curator LeaderLatch', 'kazoo Election', 'etcd election'];
const WITH = 'with `maxStallMs`';
const ORDERS = ['five replicas replaced, the leader first', 'five replicas replaced, the leader last'];
const RESTARTS = ['a server restarted, the leading one', 'a server restarted, a follower'];

/** @type {readonly Promised[]} */
const PROMISES = [
  {
    row: 'host-failover',
    promise: 'A leader that is killed, hangs or falls silent is replaced within 2.6 s',
    measured: ({ cell }) =>
      inSeconds(Math.max(...FAILURES.map((failure) => cell('p99 ms', failure, 6, 'Conclave')))),
    ...{ limit: 2.6, unit: 's (p99)' },
  },
  {
    row: 'host-failover',
    promise: 'With a lease of 0.5 s, a killed leader is replaced within 0.7 s',
    measured: ({ cell }) => inSeconds(cell('p99 ms', 'kill -9', 6, 'Conclave, lease 0.5 s')),
    ...{ limit: 0.7, unit: 's (p99)' },
  },
  {
    row: 'host-failover',
    promise: 'Conclave replaces a killed leader at least twice as fast as Curator, kazoo and etcd',
    measured: ({ cell }) => {
      const [ours = 0, ...theirs] = ['Conclave', ...PEERS].map((who) => cell('p50 ms', 'kill -9', 6, who));
      return rounded(Math.min(...theirs) / ours, 1);
    },
    ...{ limit: 2, atLeast: true, unit: 'times' },
  },
  {
    row: 'guarded-failover',
    promise: 'With a guardian, a killed leader is replaced within 10 ms, whatever the session timeout is',
    measured: ({ cells }) => Math.max(...cells('p50 ms', 'Conclave, with a guardian')),
    ...{ limit: 10, unit: 'ms' },
  },
  {
    row: 'election-handover',
    promise: 'A planned handover notifies the next candidate, and at most the leader itself',
    measured: ({ cells }) => Math.max(...cells('notifications', 'Conclave election')),
    ...{ limit: 2, unit: 'notified' },
  },
  {
    row: 'election-handover',
    promise: 'A planned handover takes at most twice as long as with Curator',
    measured: ({ cell }) => timesLatch(cell, 1),
    ...{ limit: 2, unit: 'times' },
  },
  {
    row: 'handover',
    promise: 'A lock that is released notifies the next contender alone',
    measured: ({ cells }) => Math.max(...cells('notifications', 'Conclave lock')),
    ...{ limit: 1, unit: 'notified' },
  },
  {
    row: 'warm-standby',
    promise: 'With `prepare`, a leader that loads for 1.5 s hands over within 150 ms',
    measured: ({ cell }) => cell('longest ms', 'loads 1.5 s in `prepare`'),
    ...{ limit: 150, unit: 'ms' },
  },
  {
    row: 'rolling',
    promise: 'While replicas are replaced one by one, nobody leads for at most 150 ms at a time',
    measured: ({ cell }) => Math.max(...ORDERS.map((order) => cell('longest ms', order, 'nothing to load'))),
    ...{ limit: 150, unit: 'ms' },
  },
  {
    row: 'rolling',
    promise:
      'It is at most 300 ms with `prepare` and `waitForPreparedMs`, for a service that loads for 1.5 s',
    measured: ({ cell }) =>
      Math.max(...ORDERS.map((order) => cell('longest ms', order, 'loads 1.5 s in `prepare`'))),
    ...{ limit: 300, unit: 'ms' },
  },
  {
    row: 'rolling',
    promise: 'No firing of a job runs twice while replicas or servers are replaced',
    measured: ({ cells }) =>
      ['nothing to load', 'loads 1.5 s in `prepare`']
        .flatMap((who) => cells('twice', who))
        .reduce((a, b) => a + b, 0),
    ...{ limit: 0, unit: 'twice' },
  },
  {
    row: 'rolling',
    promise: 'The restart of a server ends at most one term',
    measured: ({ cell }) => Math.max(...RESTARTS.map((what) => cell('changes of the leader, most', what))),
    ...{ limit: 1, unit: 'terms' },
  },
  {
    row: 'rolling',
    promise: 'If it does, another one begins within 3 s',
    measured: ({ cell }) => Math.max(...RESTARTS.map((what) => cell('longest ms', what))),
    ...{ limit: 3000, unit: 'ms' },
  },
  {
    row: 'blocked-leader',
    promise: 'With `maxStallMs`, a leader whose event loop is blocked keeps its term',
    measured: ({ cell }) => cell(WITH, 'terms lost in all blocks, collections, and beside busy loops'),
    ...{ limit: 0, unit: 'lost' },
  },
  {
    row: 'blocked-leader',
    promise: 'A leader that is blocked for longer than `maxStallMs`, here 2 s, leads for at most 2.75 s',
    measured: ({ cell }) =>
      cell(WITH, 'blocked 4 s, `maxStallMs` 2 s: `isHeld()` first `false` after, longest ms'),
    ...{ limit: 2750, unit: 'ms' },
  },
  {
    row: 'false-takeovers',
    promise: 'A leader that lives keeps its term beside busy processes',
    measured: ({ cell }) => cell('terms that ended', '2000 (default)'),
    ...{ limit: 0, unit: 'lost' },
  },
  {
    row: 'idle',
    promise: 'Candidates that wait write nothing',
    measured: ({ cell }) => cell('each, per lease', 'all that wait', 'writes'),
    ...{ limit: 0, unit: 'writes' },
  },
  {
    row: 'shards',
    promise: 'A member that joins 50 others moves its own 80 of 4096 shards, and no other',
    measured: ({ cell }) => cell('most', 'shards that this moves'),
    ...{ limit: 80, unit: 'shards' },
  },
  {
    row: 'shards',
    promise: "A shard that doesn't move isn't disturbed",
    measured: ({ cell }) => cell('most', 'events of shards that stay'),
    ...{ limit: 0, unit: 'events' },
  },
  {
    row: 'shards',
    promise: 'The shards of a killed member have other owners within 2.6 s',
    measured: ({ cell }) =>
      inSeconds(
        Math.max(
          ...['a worker', 'the planner'].map((who) => cell('most', `kill -9 of ${who}, without a guardian`)),
        ),
      ),
    ...{ limit: 2.6, unit: 's' },
  },
  {
    row: 'many-holds',
    promise: 'A process keeps thousands of shards and locks, also with `maxStallMs`',
    measured: ({ table }) => table.reduce((sum, cells) => sum + Number(cells.at(-1)), 0),
    ...{ limit: 0, unit: 'lost' },
  },
  {
    row: 'many-holds',
    promise:
      'A member that takes 4,096 shards blocks its event loop for at most 50 ms, also with `maxStallMs`',
    measured: ({ cell }) =>
      Math.max(
        ...['shards', 'shards, with maxStallMs'].map((row) =>
          cell('longest block of the event loop, ms', row),
        ),
      ),
    ...{ limit: 50, unit: 'ms' },
  },
  {
    row: 'many-holds',
    promise: 'With `maxStallMs`, thousands of shards are owned as fast as without it, but for 10 %',
    measured: ({ cell }) => {
      const took = 'all are held after, ms';
      return rounded(cell(took, 'shards, with maxStallMs') / cell(took, 'shards'), 2);
    },
    ...{ limit: 1.1, unit: 'times' },
  },
  {
    row: 'long-run',
    promise: 'Nothing grows in an hour by more than chance allows',
    measured: ({ table }) => table.filter(([, , more, noise]) => Number(more) > Number(noise)).length,
    ...{ limit: 0, unit: 'that grow' },
  },
];

/**
 * How many times as long as Curator's LeaderLatch a planned handover takes.
 *
 * @param {Figures['cell']} cell
 * @param {string | number} servers as the table names them
 */
export function timesLatch(cell, servers) {
  const [ours = 0, theirs = 0] = ['Conclave election', 'Curator LeaderLatch'].map((who) =>
    cell('p50 µs', servers, 15, 'after a while', who),
  );
  return rounded(ours / theirs, 1);
}

/**
 * @param {readonly Pick<Finding, 'id' | 'columns' | 'table'>[]} findings
 * @param {(row: string) => boolean} [concerns] whether to judge the promises that this row shows
 * @returns {Judged[]}
 */
export function judged(findings, concerns = () => true) {
  return PROMISES.filter(({ row }) => concerns(row)).map(
    ({ row, promise, measured, limit, atLeast, unit }) => {
      const value = figuresOf(findings, row, measured);
      const isKept = (/** @type {number} */ number) => (atLeast ? number >= limit : number <= limit);
      return {
        promise,
        measured: value === undefined ? '–' : `${value.toLocaleString('en-US')} ${unit}`,
        kept: value === undefined ? 'not measured' : isKept(value) ? 'yes' : '**no**',
      };
    },
  );
}

/** In seconds with a decimal, as the docs name the times. @param {number} ms */
function inSeconds(ms) {
  return rounded(ms / 1000, 1);
}
