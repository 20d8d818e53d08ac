import { sleep } from '../../../src/platform/time/clock.js';
import { GroupPaths } from '../../../src/shards/stored/group-paths.js';
import { CLOSED_WITHIN_MS, COMMON, type FaultOf, kill } from '../disturbances.js';
import { GROUP, type MemberProcess } from './member-process.js';
import { FEWEST_SHARDS, MEMBERS, MOST_SHARDS, type ShardWorld } from './world.js';

/** How long a fault lasts at most, and the episode that has it. */
export const LONGEST_EPISODE_MS = 60_000;

/** Lets a process do something now, if it runs. */
function ask(world: ShardWorld, { environment, isDead }: MemberProcess, what: () => void): void {
  if (isDead || environment.clock.isFrozen) return;
  environment.clock.receive(what);
  world.scheduler.followUp();
}

const FAULTS: readonly (readonly [name: string, weight: number, fault: FaultOf<ShardWorld>])[] = [
  ['a member is frozen', 5, COMMON.freeze],
  [
    'a member is killed',
    3,
    (world, random) => {
      const host = world.someHost(random);
      if (host.process.isDead) return undefined;
      kill(host.process.environment, random.chance(0.5));
      return () => {
        if (host.process.isDead) world.replace(host);
      };
    },
  ],
  [
    'two members are frozen',
    1,
    (world, random) => {
      const at = random.below(MEMBERS);
      const clocks = [at, (at + 1) % MEMBERS].map((each) => world.hosts[each]?.process.environment.clock);
      for (const clock of clocks) clock?.freeze();
      return () => {
        for (const clock of clocks) clock?.thaw();
      };
    },
  ],
  ['a member is cut off', 5, COMMON.cutOff],
  ['a member is cut off from a server', 2, COMMON.cutOffFromServer],
  ["a member's network is slow", 2, COMMON.slow],
  ['connections are reset', 3, COMMON.reset],
  ['connections are forgotten in between', 2, COMMON.forget],
  ['a server is frozen', 3, COMMON.freezeServer],
  ['a server is killed', 3, COMMON.killServer],
  ['a server is cut off from the others', 3, COMMON.cutOffServer],
  ['the network between servers is slow', 1, COMMON.slowServer],
  [
    "an operator deletes a member's node",
    1,
    (world, random) => {
      const { members } = new GroupPaths(GROUP);
      const nodes = [...(world.ensemble.furthest.tree.get(members)?.children ?? [])];
      if (nodes.length > 0) world.ensemble.leader?.deleteAsOperator(`${members}/${random.pick(nodes)}`);
      return undefined;
    },
  ],
  [
    'a member refuses a shard for a while',
    3,
    (world, random) => {
      const { process } = world.someHost(random);
      ask(world, process, () => process.refuse());
      return () => ask(world, process, () => process.acceptAll());
    },
  ],
  [
    'an operator pins a shard',
    2,
    (world, random) => {
      const { process } = world.someHost(random);
      const { member } = world.someHost(random).process;
      const shard = String(random.below(MOST_SHARDS));
      ask(world, process, () => process.pin(shard, member));
      return undefined;
    },
  ],
  [
    'an operator takes a pin back',
    2,
    (world, random) => {
      const { process } = world.someHost(random);
      const shard = String(random.below(MOST_SHARDS));
      ask(world, process, () => process.pin(shard, undefined));
      return undefined;
    },
  ],
  [
    'an operator resizes the group',
    2,
    (world, random) => {
      const { process } = world.someHost(random);
      const count = FEWEST_SHARDS + random.below(MOST_SHARDS - FEWEST_SHARDS + 1);
      ask(world, process, () => process.resize(count));
      return undefined;
    },
  ],
  [
    'a member stops, and another begins',
    4,
    (world, random) => {
      const host = world.someHost(random);
      const { process } = host;
      if (process.isDead || process.isStopping || process.environment.clock.isFrozen) return undefined;
      const drainsForMs = random.chance(0.5) ? random.spread(10, 5000) : 0;
      process.environment.clock.receive(() => {
        if (drainsForMs > 0) process.drain();
        const drained = sleep(process.environment.clock, drainsForMs);
        // A session that was being opened at the stop is closed after that, within a second and a half.
        const stopped = drained
          .then(() => process.stop())
          .then(() => sleep(process.environment.clock, CLOSED_WITHIN_MS));
        void stopped.then(() => {
          if (host.process !== process || process.isDead) return;
          for (const each of process.leftovers)
            world.ledger.violate('leftovers', `of a process that stopped: ${each}`);
          process.environment.clock.kill();
          world.replace(host);
        });
      });
      world.scheduler.followUp();
      return undefined;
    },
  ],
];

const BY_WEIGHT = FAULTS.flatMap((each) => Array<(typeof FAULTS)[number]>(each[1]).fill(each));

/** Some fault, for some time. */
export function begin(world: ShardWorld): void {
  const { faults: random, ledger } = world;
  const [name, , fault] = random.pick(BY_WEIGHT);
  ledger.count('faults');
  ledger.count(`fault: ${name}`);
  const mend = fault(world, random);
  if (mend !== undefined) world.later(random.spread(100, LONGEST_EPISODE_MS), mend);
}
