import { parseLockEntry } from '../../../src/lock/queue/order.js';
import { sleep } from '../../../src/platform/time/clock.js';
import { GroupPaths } from '../../../src/shards/nodes/group-paths.js';
import { ShardList } from '../../../src/shards/nodes/shard-list.js';
import { Random } from '../../support/seeded-random.js';
import { SimulatedEnvironment } from '../candidates/environment.js';
import { CLOSED_WITHIN_MS, cut, kill, slow } from '../disturbances.js';
import { Ledger } from '../ledger.js';
import { Machine } from '../machine.js';
import { Ensemble, WORST_DRIFT } from '../model/ensemble.js';
import type { Server } from '../model/server.js';
import { Route } from '../network.js';
import { recoveryBoundMs } from '../recovery.js';
import { type Happening, Scheduler } from '../scheduler.js';
import { ShardChecker } from './checker.js';
import { GROUP, type GroupSurroundings, MemberProcess, PREPARE_MS } from './member-process.js';
import { wronglyPublished } from './publications.js';

const MEMBERS = 4;
const SERVERS = 3;
const SHARDS = [5, 8] as const;
const HOUR_MS = 3_600_000;
const LONGEST_EPISODE_MS = 60_000;
const LONGEST_CALM_MS = 300_000;
const FAULTS_AT_ONCE = 4;
const LOOK_EVERY_MS = 250;
/** By then sessions have ended, and work that overruns too. */
const QUIET_MS = 180_000;
/** A publication that was lost with its connection has been repeated by then. */
const PUBLISHED_MS = 30_000;
/** Two moves, one after the other: a planner's and its successor's. */
const MOVES_MS = 3000;
/** How long the shards of a member that has left in good order may wait for it. */
const LONGEST_GRACE_MS = 3000;

interface MemberHost {
  readonly index: number;
  readonly routes: readonly Route[];
  process: MemberProcess;
}

type Fault = (world: ShardWorld, random: Random) => (() => void) | undefined;

/** An ensemble, four members of a group of shards and the network: all that happens follows from the seed. */
export class ShardWorld {
  readonly scheduler = new Scheduler();
  readonly ledger = new Ledger(() => this.scheduler.now);
  readonly ensemble: Ensemble;
  readonly hosts: readonly MemberHost[];
  readonly faults: Random;
  readonly recoveryBoundMs: number;
  readonly #surroundings: GroupSurroundings;
  readonly #clients: Random;
  readonly #model: Random;
  readonly #takeover: 'lease' | 'session' | 'mixed';
  #processes = 0;
  #later: Happening[] = [];

  constructor(seed: number) {
    const setup = new Random(seed, 0);
    this.#model = new Random(seed, 1);
    this.#clients = new Random(seed, 2);
    this.faults = new Random(seed, 3);
    const tickMs = setup.pick([1000, 2000]);
    const syncLimit = setup.pick([5, 10]);
    const sessionTimeoutMs = tickMs * setup.pick([3, 5, 10, 15]);
    const list = ShardList.of(setup.pick(SHARDS));
    const optionMs = setup.chance(0.5) ? setup.spread(300, sessionTimeoutMs / 3) : undefined;
    this.#takeover = setup.pick(['lease', 'lease', 'lease', 'mixed', 'session']);
    const checker = new ShardChecker(this.ledger, () => this.hosts.map(({ process }) => process), list.ids);
    this.ensemble = new Ensemble({ tickMs, syncLimit }, this.scheduler, this.#model, {
      count: (what) => this.ledger.count(what),
      applied: ({ zxid, tree }, change) => checker.applied(zxid, change, (path) => tree.get(path)),
      shown: () => undefined,
    });
    const times = { sessionTimeoutMs, ...(optionMs !== undefined && { leaseMs: optionMs }) };
    const later = (ms: number, task: () => void) => void this.scheduler.after(ms, task);
    this.#surroundings = { list, ledger: this.ledger, checker, times, later };
    const leaseMs = optionMs ?? sessionTimeoutMs / 3;
    const bounds = { tickMs, syncLimit, sessionTimeoutMs, leaseMs, hasPriorities: true, losesData: false };
    // The planner, then a member, may have failed; each is waited out, and what it left is moved.
    this.recoveryBoundMs = recoveryBoundMs(bounds) + leaseMs + MOVES_MS + LONGEST_GRACE_MS + 2 * PREPARE_MS;
    this.hosts = Array.from({ length: MEMBERS }, (_, index) => {
      const routes = Array.from({ length: SERVERS }, () => new Route(this.scheduler, this.#model));
      return { index, routes, process: this.#newProcess(index, routes) };
    });
  }

  #newProcess(index: number, routes: readonly Route[]): MemberProcess {
    const random = new Random(this.#clients.bits(), 2);
    const rate = 1 + random.between(-WORST_DRIFT, WORST_DRIFT);
    const machine = new Machine(`member ${index}`, rate, this.scheduler, random, true);
    const environment = new SimulatedEnvironment(
      machine,
      random,
      this.ensemble.servers,
      routes,
      this.scheduler,
    );
    const takeover = this.#takeover === 'mixed' ? random.pick(['lease', 'session'] as const) : this.#takeover;
    const keepsHome = random.chance(0.5);
    const name = `process-${++this.#processes}`;
    const habits = {
      ...{ member: keepsHome ? `host-${index}` : name, takeover, keepsHome },
      ...{
        graceMs: keepsHome ? random.pick([0, 0, 300, LONGEST_GRACE_MS]) : 0,
        prepares: random.chance(0.3),
      },
    };
    return new MemberProcess(name, habits, environment, random, this.#surroundings);
  }

  start(): void {
    for (const host of this.hosts) this.#begin(host);
  }

  #begin({ process }: MemberHost): void {
    this.scheduler.after(this.#clients.between(0, 500), () =>
      process.environment.clock.receive(() => process.start()),
    );
  }

  /** Another process in the place of one that is gone. */
  replace(host: MemberHost): void {
    host.process = this.#newProcess(host.index, host.routes);
    this.#begin(host);
  }

  /** Something that is part of a fault: it doesn't happen any more when all is healed. */
  later(ms: number, task: () => void): void {
    this.#later.push(this.scheduler.after(ms, task));
  }

  heal(): void {
    for (const each of this.#later) each.cancelled = true;
    this.#later = [];
    for (const route of [...this.ensemble.routes, ...this.hosts.flatMap(({ routes }) => routes)])
      route.heal();
    for (const server of this.ensemble.servers) {
      server.machine.thaw();
      server.restart();
    }
    for (const host of this.hosts) {
      const { process } = host;
      process.environment.clock.thaw();
      if (process.isDead) this.replace(host);
      else process.environment.clock.receive(() => process.acceptAll());
    }
  }

  /** Whether each shard has an owner, and each member its part. */
  get isOwned(): boolean {
    const { ids } = this.#surroundings.list;
    const counts = this.hosts.map(({ process }) => ids.filter((shard) => process.actsFor(shard)).length);
    const all = counts.reduce((sum, count) => sum + count, 0);
    return all === ids.length && Math.max(...counts) - Math.min(...counts) <= 1;
  }

  /** Whether it is applications that keep shards from their next owners. */
  get isHeldUp(): boolean {
    return this.hosts.some(({ process }) => process.isOverrunning);
  }

  /** What the members publish wrongly of what they own, by what the servers have committed. */
  get wronglyPublished(): string[] {
    const { leader } = this.ensemble;
    if (leader === undefined) return ['no ensemble to look at'];
    return wronglyPublished((path) => leader.replica.tree.get(path), this.#surroundings.list);
  }

  /** After all have stopped. */
  checkLeftovers(): void {
    const { leader, servers } = this.ensemble;
    const paths = new GroupPaths(GROUP);
    const found: string[] = [];
    for (const queue of [paths.members, paths.planner])
      for (const node of leader?.replica.tree.get(queue)?.children ?? [])
        if (parseLockEntry(node) !== undefined || node.startsWith('_h_'))
          found.push(`the node ${queue}/${node}`);
    for (const parent of [paths.plans, paths.owned])
      for (const node of leader?.replica.tree.get(parent)?.children ?? [])
        found.push(`the node ${parent}/${node}`);
    const watches = servers.reduce((sum, server) => sum + server.watches, 0);
    if (watches > 0) found.push(`${watches} watches`);
    if (leader === undefined) found.push('no ensemble to look at');
    for (const { process } of this.hosts) found.push(...process.leftovers);
    for (const each of found) this.ledger.violate('leftovers', each);
    for (const each of this.ledger.unsettled) this.ledger.violate('unsettled', each);
  }
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
      const receive = (task: () => void) => {
        if (!process.isDead && !process.environment.clock.isFrozen) process.environment.clock.receive(task);
      };
      receive(() => process.refuse());
      world.scheduler.followUp();
      return () => receive(() => process.acceptAll());
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
        // What was being opened when it was stopped is closed after that, within a second and a half.
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
function begin(world: ShardWorld): void {
  const { faults: random, ledger } = world;
  const [name, , fault] = random.pick(BY_WEIGHT);
  ledger.count('faults');
  ledger.count(`fault: ${name}`);
  const mend = fault(world, random);
  if (mend !== undefined) world.later(random.spread(100, LONGEST_EPISODE_MS), mend);
}

/** Faults, and their end, and then owners of all shards; again and again; and at last all processes stop. */
export async function playShards(world: ShardWorld, hours: number): Promise<void> {
  const { scheduler, faults, hosts } = world;
  await untilOwned(world, 'at the beginning');
  while (scheduler.now < hours * HOUR_MS) {
    const episodeMs = faults.spread(2000, LONGEST_EPISODE_MS);
    for (let count = 1 + faults.below(FAULTS_AT_ONCE); count > 0; count--)
      world.later(faults.between(0, episodeMs), () => begin(world));
    await scheduler.sleep(episodeMs);
    world.heal();
    await untilOwned(world, 'after all was healed');
    await untilPublished(world);
    await scheduler.sleep(faults.spread(200, LONGEST_CALM_MS));
  }
  world.heal();
  await scheduler.sleep(QUIET_MS);
  for (const { process } of hosts) void process.stop();
  await scheduler.sleep(QUIET_MS);
  world.checkLeftovers();
}

/** Work that ends late moves shards again, so it need not be right at once; but at some moment it is. */
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
  const { scheduler, ledger, recoveryBoundMs } = world;
  let waitedMs = 0;
  while (!world.isOwned) {
    if (waitedMs > recoveryBoundMs)
      return ledger.violate(
        'no owner',
        `${when}: not of each shard, or not each its part, in ${recoveryBoundMs} ms`,
      );
    const { isHeldUp } = world;
    await scheduler.sleep(LOOK_EVERY_MS);
    if (!isHeldUp) waitedMs += LOOK_EVERY_MS;
  }
  ledger.time('until all shards were owned again', waitedMs);
  ledger.time(
    'until all shards were owned again, in thousandths of the bound',
    (1000 * waitedMs) / recoveryBoundMs,
  );
}
