import { measureIdle } from './shards/idle.mjs';
import { MEMBERS, measureCold, measureJoins } from './shards/joins.mjs';
import { measureKilled } from './shards/killed.mjs';
import { measureMoves } from './shards/moves.mjs';
import { measureFirstPlans, measurePlans } from './shards/plans.mjs';
import { measureConclave, measureKazoo } from './shards/repartition.mjs';
import { report } from './shards/report.mjs';

/** @import { Join } from './shards/joins.mjs' */
/** @import { Victim } from './shards/killed.mjs' */

const FULL = {
  cold: { one: 5, three: 3 },
  joins: 10,
  moves: 100,
  // Long enough that one heartbeat more or less at the ends makes a difference of 2 % at most.
  idle: { sessionMs: 10_000, leases: 12 },
  kills: { guarded: 10, unguarded: 10, both: 3 },
  repartitions: 5,
  firstPlans: 15,
  plans: 20,
  timeBoundaryS: 30, // kazoo's default
};
const QUICK = {
  cold: { one: 1, three: 1 },
  joins: 3,
  moves: 20,
  idle: { sessionMs: 6000, leases: 6 },
  kills: { guarded: 2, unguarded: 2, both: 1 },
  repartitions: 1,
  firstPlans: 3,
  plans: 5,
  timeBoundaryS: 1,
};

/**
 * Measures how long shards take to get owners: when a group begins, when members join and when they are killed.
 * Counts the requests of groups, too.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function shards({ quick, say }) {
  const plan = quick ? QUICK : FULL;
  /** @type {Join[]} */
  const joins = [];
  const one = await measureCold({
    ...{ servers: 1, rounds: plan.cold.one },
    withLast: async (group) => void joins.push(...(await measureJoins(group, MEMBERS, plan.joins)).joins),
  });
  say(`shards: ${one.length} groups have begun on one server, and ${joins.length} members have joined`);
  const three = await measureCold({ servers: 3, rounds: plan.cold.three });
  say(`shards: ${three.length} groups have begun on three servers`);
  const movesMs = await measureMoves(plan.moves);
  say(`shards: ${movesMs.length} shards were moved`);
  const { repartitions, writes } = await measureConclave(plan.repartitions);
  say(`shards: Conclave has repartitioned ${repartitions.length} times`);
  // Both run at the same time, because they mostly wait: kazoo for half a minute at a time, idle groups for the next heartbeat.
  const [kazoo, idle] = await Promise.all([measureKazoo(plan.timeBoundaryS, say), measureIdle(plan.idle)]);
  say('shards: kazoo has repartitioned, and the requests of idle groups were counted');
  const guarded = inTurns({ worker: plan.kills.guarded, planner: plan.kills.guarded, both: 0 });
  const unguarded = inTurns({
    worker: plan.kills.unguarded,
    planner: plan.kills.unguarded,
    both: plan.kills.both,
  });
  const killed = [
    ...(await measureKilled({ isGuarded: true, victims: guarded, say })),
    ...(await measureKilled({ isGuarded: false, victims: unguarded, say })),
  ];
  const firstPlans = await measureFirstPlans(plan.firstPlans);
  const plans = measurePlans(plan.plans);
  return report({
    ...{ cold: { one, three }, joins, movesMs, idle, writes, killed, firstPlans, plans },
    repartitions: [...repartitions, ...(kazoo === undefined ? [] : [kazoo])],
    timeBoundaryS: plan.timeBoundaryS,
  });
}

/** Returns as many victims of each kind as `counts` says. The kinds take turns. @param {Record<Victim, number>} counts @returns {Victim[]} */
function inTurns(counts) {
  const victims = /** @type {Victim[]} */ (Object.keys(counts));
  const most = Math.max(...Object.values(counts));
  return Array.from({ length: most }, (_, round) => victims.filter((each) => counts[each] > round)).flat();
}
