import { takeoverDelayMs } from '../../../src/lease/failure-detector.js';
import { parseLockEntry } from '../../../src/queue/names-and-order.js';
import { plan } from '../../../src/shards/planner/balanced-plan.js';
import { PREPARED_WAIT_MS } from '../../../src/shards/planner/handover-waits.js';
import { type Pins, parseHome, parsePins } from '../../../src/shards/stored/data-formats.js';
import { GroupPaths, nodeNameOf } from '../../../src/shards/stored/group-paths.js';
import { ShardList } from '../../../src/shards/stored/shard-list.js';
import type { Random } from '../../support/seeded-random.js';
import { Ensemble } from '../model/ensemble.js';
import type { Route } from '../network.js';
import { recoveryBoundMs } from '../recovery.js';
import { type Place, SimulatedWorld } from '../simulated-world.js';
import { ShardChecker } from './checker.js';
import { GROUP, type GroupSurroundings, MemberProcess } from './member-process.js';
import { wronglyPublished } from './publications.js';

export const MEMBERS = 4;
const SHARDS = [5, 8] as const;
/** The sizes that an operator gives the group. */
export const FEWEST_SHARDS = 3;
export const MOST_SHARDS = 12;
/** Two moves, one after the other: a planner's and its successor's. */
const MOVES_MS = 3000;
/** How long the shards of a member that has left in good order may wait for it. */
const LONGEST_GRACE_MS = 3000;

interface MemberHost {
  readonly index: number;
  readonly routes: readonly Route[];
  process: MemberProcess;
}

/** An ensemble, four members of a group of shards, an operator and the network. */
export class ShardWorld extends SimulatedWorld {
  readonly ensemble: Ensemble;
  readonly hosts: readonly MemberHost[];
  readonly recoveryBoundMs: number;
  readonly #surroundings: GroupSurroundings;

  constructor(seed: number) {
    super(seed);
    const { setup } = this;
    const tickMs = setup.pick([1000, 2000]);
    const syncLimit = setup.pick([5, 10]);
    const sessionTimeoutMs = tickMs * setup.pick([3, 5, 10, 15]);
    const list = ShardList.of(setup.pick(SHARDS));
    const optionMs = setup.chance(0.5) ? setup.spread(300, sessionTimeoutMs / 3) : undefined;
    const all = ShardList.of(MOST_SHARDS);
    const checker = new ShardChecker(this.ledger, () => this.hosts.map(({ process }) => process), all.ids);
    this.ensemble = new Ensemble({ tickMs, syncLimit }, this.scheduler, this.model, {
      count: (what) => this.ledger.count(what),
      applied: ({ zxid, tree }, change) => checker.applied(zxid, change, (path) => tree.get(path)),
      shown: () => undefined,
    });
    const times = { sessionTimeoutMs, ...(optionMs !== undefined && { leaseMs: optionMs }) };
    const later = (ms: number, task: () => void) => void this.scheduler.after(ms, task);
    this.#surroundings = { list, all, ledger: this.ledger, checker, times, later };
    const leaseMs = optionMs ?? sessionTimeoutMs / 3;
    const delayMs = takeoverDelayMs(leaseMs);
    const bounds = { tickMs, syncLimit, sessionTimeoutMs, delayMs, hasPriorities: true, losesData: false };
    // The planner may have failed, and then a member. The others wait for each of them, and then its shards move.
    this.recoveryBoundMs =
      recoveryBoundMs(bounds) + leaseMs + MOVES_MS + LONGEST_GRACE_MS + 2 * PREPARED_WAIT_MS;
    this.hosts = Array.from({ length: MEMBERS }, (_, index) => {
      const routes = this.newRoutes();
      return { index, routes, process: this.#newProcess(index, routes) };
    });
  }

  #newProcess(index: number, routes: readonly Route[]): MemberProcess {
    const random = this.newRandom();
    const environment = this.newEnvironment(`member ${index}`, routes, random);
    const keepsHome = random.chance(0.5);
    const name = this.nextName('process');
    const habits = {
      ...{ member: keepsHome ? `host-${index}` : name, keepsHome },
      ...{
        graceMs: keepsHome ? random.pick([0, 0, 300, LONGEST_GRACE_MS]) : 0,
        prepares: random.chance(0.3),
      },
    };
    return new MemberProcess(name, habits, environment, random, this.#surroundings);
  }

  someHost(random: Random): MemberHost {
    return random.pick(this.hosts);
  }

  somePlace(random: Random): Place {
    const { process, routes } = this.someHost(random);
    return { environment: process.environment, routes };
  }

  start(): void {
    for (const host of this.hosts) this.#begin(host);
  }

  #begin({ process }: MemberHost): void {
    this.run(process.environment.clock, () => process.start());
  }

  /** Puts another process in the place of one that is gone. */
  replace(host: MemberHost): void {
    host.process = this.#newProcess(host.index, host.routes);
    this.#begin(host);
  }

  /** From now on something may be wrong. */
  endCalm(): void {
    this.clockFaults?.begin();
  }

  heal(): void {
    this.clockFaults?.end();
    this.healServers(this.hosts.flatMap(({ routes }) => routes));
    for (const host of this.hosts) {
      const { process } = host;
      process.environment.clock.thaw();
      if (process.isDead) this.replace(host);
      else process.environment.clock.receive(() => process.acceptAll());
    }
  }

  /** Whether packets are lost now and then. With the shortest leases, one that is lost may end a member. */
  set losesPackets(loses: boolean) {
    const routes = [...this.ensemble.routes, ...this.hosts.flatMap((host) => host.routes)];
    for (const { links } of routes) for (const link of links) link.losesPackets = loses;
  }

  /** The shards that the group has, and its pins, by the servers' committed data; `undefined` if there are none yet. */
  get #committed(): { readonly list: ShardList; readonly pins: Pins } | undefined {
    const { leader } = this.ensemble;
    const paths = new GroupPaths(GROUP);
    const read = (path: string) => Buffer.from(leader?.replica.tree.get(path)?.data ?? []);
    const list = ShardList.parse(read(paths.group));
    return list && { list, pins: parsePins(read(paths.pins)) ?? new Map() };
  }

  /** By shard, the member that acts for it; `undefined` unless each shard of the group, and no other, has one. */
  get #owners(): ReadonlyMap<string, string> | undefined {
    const owners = new Map<string, string>();
    for (const { process } of this.hosts)
      for (const shard of this.#surroundings.all.ids)
        if (process.actsFor(shard)) owners.set(shard, process.member);
    return owners.size === this.#committed?.list.count ? owners : undefined;
  }

  get isOwned(): boolean {
    return this.#owners !== undefined;
  }

  /**
   * Whether all shards have owners, a pinned shard its member, if that is there, and each member its part. All this is true if a plan would
   * change nothing.
   */
  get isBalanced(): boolean {
    const owners = this.#owners;
    const { list, pins } = this.#committed ?? {};
    if (owners === undefined || list === undefined) return false;
    const members = this.hosts.map(({ process }) => ({ id: process.member, weight: 1 }));
    const planned = plan({ shards: list.ids, members, owners, ...(pins && { pins }) });
    return [...planned].every(([shard, id]) => owners.get(shard) === id);
  }

  /** Whether applications keep shards from their next owners. */
  get isHeldUp(): boolean {
    return this.hosts.some(({ process }) => process.isOverrunning);
  }

  /** The members' publications that are wrong by the servers' committed data. */
  get wronglyPublished(): string[] {
    const { leader } = this.ensemble;
    const list = this.#committed?.list;
    if (leader === undefined || list === undefined) return ['no ensemble to look at'];
    const isListed = (shard: string) => list.numberOf(shard) !== undefined;
    return wronglyPublished((path) => leader.replica.tree.get(path), this.#surroundings.all, isListed);
  }

  /** Changes with each term of a planner. */
  get plannersTerm(): number | undefined {
    return this.ensemble.leader?.replica.tree.get(new GroupPaths(GROUP).planner)?.version;
  }

  /** Called after a calm that no home outlasts. */
  checkHomes(): void {
    const { homes } = new GroupPaths(GROUP);
    this.ledger.count('calms without homes at their end');
    for (const name of this.ensemble.leader?.replica.tree.get(homes)?.children ?? [])
      this.ledger.violate('home', `${homes}/${name} is there though all members are`);
  }

  /** The data of the nodes that outlive all members: the list of shards, the records, pins and homes. */
  #checkKept(): void {
    const tree = this.ensemble.leader?.replica.tree;
    const paths = new GroupPaths(GROUP);
    const read = (path: string) => Buffer.from(tree?.get(path)?.data ?? []);
    const wrong = (what: string) => this.ledger.violate('kept', what);
    const { list } = this.#committed ?? {};
    for (const shard of list?.ids ?? [])
      if (tree?.get(paths.recordOf(shard)) === undefined) wrong(`shard ${shard} has no record`);
    if (list === undefined) wrong('the group has no list of shards');
    const pins = parsePins(read(paths.pins));
    if (pins === undefined) wrong(`the pins can't be read: ${read(paths.pins)}`);
    for (const shard of pins?.keys() ?? [])
      if (this.#surroundings.all.numberOf(shard) === undefined) wrong(`shard ${shard} is pinned`);
    if (list === undefined) return;
    for (const name of tree?.get(paths.homes)?.children ?? []) {
      const home = parseHome(read(`${paths.homes}/${name}`), { list, version: 0 });
      if (home === undefined || nodeNameOf(home.id) !== name) wrong(`the home ${name} can't be read`);
    }
  }

  /** After all have stopped. */
  checkLeftovers(): void {
    const { members, planner, plans, owned } = new GroupPaths(GROUP);
    const found = this.leftoversOf(
      [members, planner, plans, owned],
      (node, parent) =>
        parent === plans || parent === owned || parseLockEntry(node) !== undefined || node.startsWith('_h_'),
    );
    for (const { process } of this.hosts) found.push(...process.leftovers);
    for (const each of found) this.ledger.violate('leftovers', each);
    this.#checkKept();
    for (const each of this.ledger.unsettled) this.ledger.violate('unsettled', each);
  }
}
