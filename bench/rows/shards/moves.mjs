import { startServers } from '../../harness/servers.mjs';
import { Group } from './group.mjs';
import { gapsOf } from './history.mjs';

const MEMBERS = 3;
/** One shard more than members, so that exactly one shard moves when one more member joins, and one when that member is drained. */
const SHARDS = MEMBERS + 1;
const SESSION_MS = 10_000;
// The first moves run on code that V8 has not compiled yet.
const WARM_UP_ROUNDS = 5;

/**
 * Moves shards one by one from one live member to another.
 *
 * @param {number} moves
 * @returns {Promise<number[]>} from the abort of the shard's signal until the next owner has it, in milliseconds
 */
export async function measureMoves(moves) {
  const servers = await startServers();
  const group = new Group({ connect: servers.connect, shards: SHARDS, sessionMs: SESSION_MS });
  /** @type {number[]} */
  const tookMs = [];
  try {
    await group.join(MEMBERS);
    await group.untilOwned();
    await group.take();
    for (let round = -WARM_UP_ROUNDS; tookMs.length < moves; round++) {
      const { numbers } = await group.join(1);
      const newcomer = /** @type {number} */ (numbers[0]);
      await group.untilOwns(newcomer, 1);
      const there = gapsOf(await group.take());
      await group.leave(newcomer, 'drain');
      const back = gapsOf(await group.take());
      if (round >= 0) tookMs.push(...there, ...back);
    }
  } finally {
    await group.end();
    await servers.stop();
  }
  return tookMs;
}
