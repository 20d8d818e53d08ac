import { LONGEST_PASSED_OVER_MS } from '../../../src/shards/planner/short-lived-members.js';
import { begin, LONGEST_EPISODE_MS } from './faults.js';
import type { ShardWorld } from './world.js';

const HOUR_MS = 3_600_000;
const LONGEST_CALM_MS = 300_000;
const FAULTS_AT_ONCE = 4;
const LOOK_EVERY_MS = 250;
/** By then sessions have ended, and so has work that overruns. */
const QUIET_MS = 180_000;
/** A publication that was lost with its connection has been repeated by then. */
const PUBLISHED_MS = 30_000;
/** A home is removed a minute after the planner has seen it; members that were stopping may leave one a moment after all was healed. */
const HOMES_GONE_MS = 100_000;

/** Again and again: faults, their end, and then owners of all shards. At last all processes stop. */
export async function playShards(world: ShardWorld, hours: number): Promise<void> {
  const { scheduler, faults, hosts } = world;
  await untilOwned(world, 'at the beginning');
  while (scheduler.now < hours * HOUR_MS) {
    const episodeMs = faults.spread(2000, LONGEST_EPISODE_MS);
    world.endCalm();
    for (let count = 1 + faults.below(FAULTS_AT_ONCE); count > 0; count--)
      world.later(faults.between(0, episodeMs), () => begin(world));
    await scheduler.sleep(episodeMs);
    world.heal();
    await untilOwned(world, 'after all was healed');
    await untilPublished(world);
    const [calmMs, planners] = [faults.spread(200, LONGEST_CALM_MS), world.plannersTerm];
    await scheduler.sleep(calmMs);
    // The next planner counts anew. With short leases there are some also where nothing fails.
    if (calmMs > HOMES_GONE_MS && world.plannersTerm === planners) world.checkHomes();
  }
  world.heal();
  await scheduler.sleep(QUIET_MS);
  for (const { process } of hosts) void process.stop();
  await scheduler.sleep(QUIET_MS);
  world.checkLeftovers();
}

/** Work that ends late moves shards again. So the owners needn't be right at once, but they are at some moment. */
async function untilPublished(world: ShardWorld): Promise<void> {
  const { scheduler, ledger } = world;
  for (let waitedMs = 0; world.wronglyPublished.length > 0; waitedMs += LOOK_EVERY_MS) {
    if (waitedMs > PUBLISHED_MS) {
      for (const each of world.wronglyPublished) ledger.violate('publication', each);
      return;
    }
    await scheduler.sleep(LOOK_EVERY_MS);
  }
  ledger.count('publications compared with the records');
}

async function untilOwned(world: ShardWorld, when: string): Promise<void> {
  const { recoveryBoundMs } = world;
  await untilIs(world, 'isOwned', `${when}: not each shard has an owner`, recoveryBoundMs);
  // Until then another member may have the part of a new one. Each member that ends early lengthens that, so no lost packet ends one.
  world.losesPackets = false;
  await untilIs(
    world,
    'isBalanced',
    `${when}: not each member has its part`,
    LONGEST_PASSED_OVER_MS + recoveryBoundMs,
  );
  world.losesPackets = true;
}

async function untilIs(
  world: ShardWorld,
  state: 'isOwned' | 'isBalanced',
  wrong: string,
  boundMs: number,
): Promise<void> {
  const { scheduler, ledger } = world;
  let waitedMs = 0;
  while (!world[state]) {
    if (waitedMs > boundMs) return ledger.violate(state, `${wrong}, in ${boundMs} ms`);
    const { isHeldUp } = world;
    await scheduler.sleep(LOOK_EVERY_MS);
    if (!isHeldUp) waitedMs += LOOK_EVERY_MS;
  }
  ledger.time(`until ${state}`, waitedMs);
  ledger.time(`until ${state}, in thousandths of the bound`, (1000 * waitedMs) / boundMs);
}
