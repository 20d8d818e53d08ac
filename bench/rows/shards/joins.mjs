import { startServers } from '../../harness/servers.mjs';
import { Group } from './group.mjs';
import { changeOf, lastAcquiredAt } from './history.mjs';

/** @import { ShardEvent } from './history.mjs' */

export const MEMBERS = 50;
export const SHARDS = 4096;
const SESSION_MS = 10_000;

/** @typedef {{ ownedMs: number, sinceStartMs: number }} Cold `ownedMs`: since all were members; `sinceStartMs`: since the first one began to start */
/** @typedef {{ tookMs: number, moved: number, movedElsewhere: number, eventsOfStayed: number }} Join */

/** The number of shards that a join should move: the newcomer's part, rounded down. @param {number} shards @param {number} members with the newcomer */
export function quotaOfNewcomer(shards, members) {
  return Math.floor(shards / members);
}

/**
 * Starts a whole group that has no shard's record yet, each time in a process of its own.
 *
 * @param {object} plan
 * @param {1 | 3} plan.servers
 * @param {number} plan.rounds
 * @param {(group: Group) => Promise<void>} [plan.withLast] called with the last group
 * @returns {Promise<Cold[]>}
 */
export async function measureCold({ servers: count, rounds, withLast }) {
  const servers = await startServers({ count });
  /** @type {Cold[]} */
  const measured = [];
  try {
    for (let round = 0; round < rounds; round++) {
      const path = `/cold-${round}`;
      const group = new Group({ connect: servers.connect, path, shards: SHARDS, sessionMs: SESSION_MS });
      try {
        const { beganAt, startedAt } = await group.join(MEMBERS);
        await group.untilOwned();
        const ownedAt = lastAcquiredAt(await group.take());
        measured.push({ ownedMs: ownedAt - startedAt, sinceStartMs: ownedAt - beganAt });
        if (round + 1 === rounds) await withLast?.(group);
      } finally {
        await group.end();
      }
    }
  } finally {
    await servers.stop();
  }
  return measured;
}

/**
 * Lets one more member join a group and leave again, once in each round.
 *
 * @param {Group} group
 * @param {number} members the number of members without that one
 * @param {number} rounds
 * @param {(join: () => Promise<void>) => Promise<void>} [around] gets the join of each round, and must call it
 * @returns {Promise<{ joins: Join[], events: ShardEvent[][] }>} the events of each join
 */
export async function measureJoins(group, members, rounds, around = (join) => join()) {
  /** @type {Join[]} */
  const joins = [];
  /** @type {ShardEvent[][]} */
  const all = [];
  const quota = quotaOfNewcomer(group.shards, members + 1);
  for (let round = 0; round < rounds; round++) {
    await group.take();
    let newcomer = Number.NaN;
    let joinedAt = Number.NaN;
    await around(async () => {
      const joined = await group.join(1);
      newcomer = /** @type {number} */ (joined.numbers[0]);
      joinedAt = joined.startedAt;
      await group.untilOwns(newcomer, quota);
    });
    const events = await group.take();
    joins.push({ ...joinOf(events, newcomer), tookMs: lastAcquiredAt(events) - joinedAt });
    all.push(events);
    await group.leave(newcomer, 'stop');
  }
  return { joins, events: all };
}

/** @param {readonly ShardEvent[]} events @param {number} newcomer */
function joinOf(events, newcomer) {
  const { moved, eventsOfStayed } = changeOf(events);
  return {
    moved: moved.length,
    movedElsewhere: moved.filter(({ to }) => to !== newcomer).length,
    eventsOfStayed,
  };
}
