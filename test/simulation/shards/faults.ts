import { sleep } from '../../../src/platform/time/clock.js';
import { GroupPaths } from '../../../src/shards/stored/paths.js';
import type { Random } from '../../support/seeded-random.js';
import { CLOSED_WITHIN_MS, cut, kill, slow } from '../disturbances.js';
import type { Server } from '../model/server.js';
import { GROUP, type MemberProcess } from './member-process.js';
import { FEWEST_SHARDS, MEMBERS, MOST_SHARDS, type ShardWorld } from './world.js';

/** How long a fault lasts at most, and the episode that has it. */
export const LONGEST_EPISODE_MS = 60_000;

type Fault = (world: ShardWorld, random: Random) => (() => void) | undefined;

/** Lets a process do something now, if it runs. */
function ask(world: ShardWorld, { environment, isDead }: MemberProcess, what: () => void): void {
  if (isDead || environment.clock.isFrozen) return;
  environment.clock.receive(what);
  world.scheduler.followUp();
}

const someHost = (world: ShardWorld, random: Random) => random.pick(world.hosts);

function someServer({ ensemble }: ShardWorld, random: Random): Server {
  const { leader, servers } = ensemble;
  return leader !== undefined && random.chance(0.5) ? leader : random.pick(servers);
}

const FAULTS: readonly (readonly [name: string, weight: number, fault: Fault])[] = [
  [
    'a member is frozen',
    5,
    (world, random) => {
      const { clock } = someHost(world, random).process.environment;
      clock.freeze();
      return () => clock.thaw();
    },
  ],
  [
    'a member is killed',
    3,
    (world, random) => {
      const host = someHost(world, random);
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
  ['a member is cut off', 5, (world, random) => cut(someHost(world, random).routes, random)],
  [
    'a member is cut off from a server',
    2,
    (world, random) => cut([random.pick(someHost(world, random).routes)], random),
  ],
  ["a member's network is slow", 2, (world, random) => slow(someHost(world, random).routes, random)],
  [
    'connections are reset',
    3,
    (world, random) => {
      for (const wire of someHost(world, random).process.environment.wires) wire.reset();
      return undefined;
    },
  ],
  [
    'connections are forgotten in between',
    2,
    (world, random) => {
      for (const wire of someHost(world, random).process.environment.wires) wire.sever();
      return undefined;
    },
  ],
  [
    'a server is frozen',
    3,
    (world, random) => {
      const { machine } = someServer(world, random);
      machine.freeze();
      return () => machine.thaw();
    },
  ],
  [
    'a server is killed',
    3,
    (world, random) => {
      const server = someServer(world, random);
      server.kill();
      return () => server.restart();
    },
  ],
  [
    'a server is cut off from the others',
    3,
    (world, random) => cut(world.ensemble.routesOf(someServer(world, random)), random),
  ],
  [
    'the network between servers is slow',
    1,
    (world, random) => slow(world.ensemble.routesOf(someServer(world, random)), random),
  ],
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
      const { process } = someHost(world, random);
      ask(world, process, () => process.refuse());
      return () => ask(world, process, () => process.acceptAll());
    },
  ],
  [
    'an operator pins a shard',
    2,
    (world, random) => {
      const { process } = someHost(world, random);
      const { member } = someHost(world, random).process;
      const shard = String(random.below(MOST_SHARDS));
      ask(world, process, () => process.pin(shard, member));
      return undefined;
    },
  ],
  [
    'an operator takes a pin back',
    2,
    (world, random) => {
      const { process } = someHost(world, random);
      const shard = String(random.below(MOST_SHARDS));
      ask(world, process, () => process.pin(shard, undefined));
      return undefined;
    },
  ],
  [
    'an operator resizes the group',
    2,
    (world, random) => {
      const { process } = someHost(world, random);
      const count = FEWEST_SHARDS + random.below(MOST_SHARDS - FEWEST_SHARDS + 1);
      ask(world, process, () => process.resize(count));
      return undefined;
    },
  ],
  [
    'a member stops, and another begins',
    4,
    (world, random) => {
      const host = someHost(world, random);
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
