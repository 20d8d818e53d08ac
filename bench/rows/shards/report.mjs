/** The table and notes of the row `shards`. */
import { median, quantile, rounded } from '../../harness/quantiles.mjs';
import { operationsPerLease, WORKERS } from './idle.mjs';
import { MEMBERS, quotaOfNewcomer, SHARDS } from './joins.mjs';
import * as kills from './killed.mjs';
import * as large from './plans.mjs';
import { MEMBERS as FORMER, PIECES } from './repartition.mjs';

/** @import { Finding } from '../../harness/finding.mjs' */
/** @import { Idle } from './idle.mjs' */
/** @import { Cold, Join } from './joins.mjs' */
/** @import { Killed } from './killed.mjs' */
/** @import { FirstPlans, Plans } from './plans.mjs' */
/** @import { Repartition, Writes } from './repartition.mjs' */

/**
 * @typedef {object} Measured
 * @property {{ one: Cold[], three: Cold[] }} cold by the number of servers
 * @property {Join[]} joins
 * @property {number[]} movesMs
 * @property {Idle[]} idle
 * @property {Writes[]} writes
 * @property {Repartition[]} repartitions Conclave's, and kazoo's if it is available
 * @property {Killed[]} killed
 * @property {FirstPlans} firstPlans
 * @property {Plans[]} plans
 * @property {number} timeBoundaryS kazoo's
 */

/** @typedef {{ what: string, who?: string, values: readonly number[], unit: string }} Line */

const CONCLAVE = 'Conclave';
const FIRST_PLAN = 'the first plan of a process';

/** @param {Measured} measured @returns {Finding} */
export function report(measured) {
  const hasPeer = measured.repartitions.some(({ who }) => who !== CONCLAVE);
  return {
    id: 'shards',
    title: 'Shards: pieces of work that are shared out among workers',
    columns: ['what', 'unit', 'who', 'p50', 'least', 'most', 'times'],
    table: linesOf(measured).map(({ what, who = CONCLAVE, values, unit }) => [
      ...[what, unit, who],
      ...[0.5, 0, 1].map((share) => rounded(quantile(values, share))),
      values.length,
    ]),
    ...(hasPeer && { summary: { lines: ['what', 'unit'], across: 'who', value: 'p50' } }),
    notes: notesOf(measured),
    data: measured,
  };
}

/** @param {Measured} measured @returns {Line[]} */
function linesOf({ cold, joins, movesMs, idle, writes, repartitions, killed, firstPlans, plans }) {
  const group = `${MEMBERS} members, ${SHARDS} shards`;
  const change = `${FORMER} to ${FORMER + 1} workers, ${PIECES} pieces`;
  const ms = 'ms';
  return [
    { what: `${group}: all are owned, one server`, values: cold.one.map(ownedMs), unit: ms },
    { what: 'the same, from the first start() on', values: cold.one.map(sinceStartMs), unit: ms },
    { what: `${group}: all are owned, three servers`, values: cold.three.map(ownedMs), unit: ms },
    { what: 'the same, from the first start() on', values: cold.three.map(sinceStartMs), unit: ms },
    { what: 'one more joins: it owns its part', values: joins.map(({ tookMs }) => tookMs), unit: ms },
    { what: 'shards that this moves', values: joins.map(({ moved }) => moved), unit: 'shards' },
    {
      what: 'events of shards that stay',
      values: joins.map(({ eventsOfStayed }) => eventsOfStayed),
      unit: 'events',
    },
    { what: 'a planned move of one shard', values: movesMs, unit: ms },
    ...killed.map((each) => ({ what: wordsOf(each), values: each.tookMs, unit: ms })),
    ...[...new Set(repartitions.map(({ who }) => who))].flatMap((who) => {
      const own = repartitions.filter((each) => each.who === who);
      return [
        { what: `${change}: another owner`, who, values: own.map(({ moved }) => moved), unit: 'pieces' },
        {
          what: `${change}: without an owner for a time`,
          ...{ who, values: own.map(({ interrupted }) => interrupted), unit: 'pieces' },
        },
        {
          what: `${change}: from the first release to the last acquisition`,
          ...{ who, values: own.map(({ spanMs }) => spanMs), unit: ms },
        },
        {
          what: `${change}: a moved piece has no owner`,
          ...{ who, values: own.flatMap(({ gapsMs }) => gapsMs), unit: ms },
        },
      ];
    }),
    ...idle.map((each) => ({
      what: `${WORKERS} idle workers, ${each.shards} shards: all requests in a lease`,
      ...{ values: [operationsPerLease(each)], unit: 'requests' },
    })),
    {
      what: 'writes of records for each moved shard',
      ...{ values: writes.map(({ recordWrites, moved }) => recordWrites / moved), unit: 'writes' },
    },
    {
      what: 'transactions of such a join',
      values: writes.map(({ transactions }) => transactions),
      unit: 'transactions',
    },
    {
      what: 'requests of such a join',
      values: writes.map(({ operations }) => operations),
      unit: 'requests',
    },
    { what: planWords(FIRST_PLAN), values: firstPlans.plansMs, unit: ms },
    {
      what: `only to fill a Map as large as such a plan, in a new process`,
      values: firstPlans.mapsMs,
      unit: ms,
    },
    ...plans.map(({ what, tookMs }) => ({ what: planWords(what), values: tookMs, unit: ms })),
  ];
}

/** @param {Cold} cold */
function ownedMs(cold) {
  return cold.ownedMs;
}

/** @param {Cold} cold */
function sinceStartMs(cold) {
  return cold.sinceStartMs;
}

/** @param {Pick<Killed, 'victim' | 'isGuarded'>} killed */
function wordsOf({ victim, isGuarded }) {
  const who = { worker: 'a worker', planner: 'the planner', both: 'the planner and the next in line' }[
    victim
  ];
  return `kill -9 of ${who}, ${isGuarded ? 'with' : 'without'} a guardian`;
}

/** @param {string} what */
function planWords(what) {
  return `plan() of ${large.SHARDS} shards and ${large.MEMBERS} members: ${what}`;
}

/** @param {Measured} measured @returns {string[]} */
function notesOf({ idle, writes, timeBoundaryS }) {
  return [
    'A group begins: all members start at the same time, each with a session of its own, in one process that is new. Timed from the moment at which the last `start()` has resolved until the last shard has an owner; that time includes the 200 ms for which the planner waits for more members. The records are created before `start()` resolves.',
    `One more joins: from its \`start()\` until it owns all of its ${quotaOfNewcomer(SHARDS, MEMBERS + 1)} shards, these 200 ms included.`,
    "A planned move: from the abort of the shard's signal in the former owner until `acquired` in the next one. Both are in one process, the work settles at once, and nothing else moves. Three members with four shards: another member joins and gets one, and is drained.",
    `Idle: two groups on a server each, at the same time; the server counts requests without pings (the numbers of the sessions' requests). A proxy counts the kinds: ${idle.map(kindsOf).join('; ')}. \`multi\`: heartbeats, of the worker's node and of what it has in the planner's election together. \`getChildren\` and most of \`exists\`: the planner and the next in line list the members four times in a lease, and look at each one's heartbeat node. The other \`exists\`: the next two in the planner's election look at the heartbeats of its leader, and the others look for their predecessors' nodes now and then.`,
    `Writes: when one more joins ${FORMER} with ${PIECES} shards. By the versions of all records before and after: the server counts each write of a node there, however many are in a transaction. Transactions (zxids) and requests are all of the join: the session, the nodes and the plans of the newcomer, the plans of the others, the releases, the claims, and ${PIECES} reads of records by the planner. Sessions time out after a day, so that no heartbeats are among them. All in all ${median(writes.map(({ moved }) => moved))} shards moved.`,
    `Killed: ${kills.WORKERS} processes, ${kills.SHARDS} shards, session timeouts of ${kills.SESSION_MS / 1000} s, so leases of ${kills.LEASE_MS / 1000} s; ticks of ${kills.TICK_MS / 1000} s. Until the last shard of the killed process has another owner: with a guardian since the \`exit\` event in its parent, without one since the kill.`,
    `The planner and the next in line: the third observes the other members as these two do. It is elected planner when the leader of that election has been silent for two takeover delays (1.03 leases and 50 ms each). Before that nothing has failed for two session timeouts.`,
    'plan(): a pure function. The first plan of a process shares out shards that have no owners, in a new process each time: V8 has compiled no code for it yet. Its result is a Map, so such a process also fills a Map of the same size and does nothing else, in turns with the plans. The other plans are made in the process of the benchmark.',
    `kazoo: time_boundary=${timeBoundaryS}, of 30 s by default; all workers are threads of a process; the idle groups are counted beside it. A piece has lost its owner when the partitioner's state is RELEASE, and has one when it is ACQUIRED. Conclave's workers are in one process, too.`,
  ];
}

/** @param {Idle} idle */
function kindsOf({ shards, leases, kinds }) {
  const each = Object.entries(kinds).map(([kind, count]) => `${kind} ${rounded(count / leases)}`);
  return `${shards} shards, in a lease: ${each.join(', ')}`;
}
