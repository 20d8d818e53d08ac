import { parseRecord, type ReadRecord } from '../../src/election/record/election-record.js';
import { takeoverDelayMs } from '../../src/lease/failure-detector.js';
import { ignore } from '../../src/platform/async/promises.js';
import { heartbeatPathOf, parseEntry, parseLockEntry, queueOf } from '../../src/queue/names-and-order.js';
import type { Random } from '../support/seeded-random.js';
import { type Candidate, type CandidateSetup, ELECTION, type Surroundings } from './candidates/candidate.js';
import { CuratorCandidate } from './candidates/curator.js';
import { ElectorCandidate } from './candidates/elector.js';
import type { SimulatedEnvironment } from './candidates/environment.js';
import { LOCK_PATHS } from './candidates/lock-user.js';
import { SupervisedCandidate } from './candidates/supervised.js';
import { CheckedObserver } from './checked-observer.js';
import { FencedResource, LeadershipChecker } from './checker.js';
import { CommittedLeaders } from './committed-leaders.js';
import { Parent } from './guarded.js';
import { LockChecker } from './lock-checker.js';
import type { Machine } from './machine.js';
import { Ensemble, WORST_DRIFT } from './model/ensemble.js';
import type { Route } from './network.js';
import { type RecoveryTimes, recoveryBoundMs, servedBoundMs, staleBoundMs } from './recovery.js';
import type { Rules } from './rules.js';
import { type Place, SimulatedWorld } from './simulated-world.js';
import { checkKept, lateRepliesOf } from './stall-faults.js';

const CANDIDATES = 3;

/** How long a packet may be on its way, at most, after the network has been mended. */
const LONGEST_ON_ITS_WAY_MS = 5000;

/** Where a process runs: its ways to the servers stay when it is replaced. */
export interface Host {
  readonly index: number;
  readonly routes: readonly Route[];
  candidate: Candidate;
  /** In a world with guardians: the process that has started the candidate's. */
  parent: Parent | undefined;
}

/** Where a process runs that only observes. */
export interface ObserverHost {
  readonly routes: readonly Route[];
  observer: CheckedObserver;
}

/** How often observers, and sessions without a server, are checked. */
const LOOK_EVERY_MS = 2000;

/**
 * How much goes wrong. `many` means about 300 faults an hour and short sessions: an hour of computing finds most this way.
 * `few` means about 20 an hour and mostly long sessions: an hour of computing simulates most hours this way, and candidates are left
 * alone for long enough to show problems that build up slowly. `takeover` means as many faults as `many`, most of them at the moments
 * at which one candidate takes over from another, and no locks. `stalls` means the same faults as `takeover`, and as many about main threads
 * that stand still while a thread repeats their heartbeats.
 */
export const FAULT_RATES = ['few', 'many', 'takeover', 'stalls'] as const;
export type FaultRate = (typeof FAULT_RATES)[number];

/** The session timeout, in ticks: an ensemble grants 2 to 20. */
const SESSION_TICKS: Record<FaultRate, readonly number[]> = {
  many: [3, 5, 10, 15],
  takeover: [3, 5, 10, 15],
  stalls: [3, 5, 10, 15],
  few: [...Array(1).fill(3), ...Array(3).fill(5), ...Array(10).fill(10), ...Array(26).fill(20)],
};

/** Which of a world's candidates have a `takeoverDelayMs`, of a session timeout. */
const DELAYED = ['none', 'none', 'none', 'some', 'all'] as const;

/** How likely leases are shorter than without an option, and the shortest: with few faults, heartbeats are most of the work. */
const SHORT_LEASES: Record<FaultRate, { readonly chance: number; readonly leastMs: number }> = {
  many: { chance: 0.5, leastMs: 300 },
  takeover: { chance: 0.5, leastMs: 300 },
  stalls: { chance: 0.5, leastMs: 300 },
  few: { chance: 0.2, leastMs: 2000 },
};

/** An ensemble, three candidates and the network. */
export class World extends SimulatedWorld {
  readonly checker: LeadershipChecker;
  readonly ensemble: Ensemble;
  readonly hosts: readonly Host[];
  readonly observerHosts: readonly ObserverHost[];
  /** Whether the ensemble may lose its data. */
  readonly losesData: boolean;
  /** Whether a guardian looks after each candidate. */
  readonly isGuarded: boolean;
  readonly faultRate: FaultRate;
  readonly surroundings: Surroundings;
  /** For how long main threads may stand still; `undefined` if no thread repeats heartbeats. */
  readonly maxStallMs: number | undefined;
  /** Chance for late replies, in a world that has them. */
  readonly lateReplies: Random | undefined;
  readonly #kind: 'supervised' | 'elector' | 'curator';
  readonly #priorities: boolean;
  /** Whether candidates prepare, and leaders wait for them. */
  readonly #prepares: boolean;
  readonly #delayed: (typeof DELAYED)[number];
  /** Which process has opened each session. */
  readonly #owners = new Map<bigint, Machine>();
  /** When everything worked again for the last time; never while something may be wrong. */
  #healedAt = Number.POSITIVE_INFINITY;
  readonly #servedBoundMs: number;
  /** Nodes in queues that were there again when the ensemble had been restored from an earlier state. */
  #cameBack: readonly string[] = [];
  /** When the ensemble has lost its data, and whether some of it was left. */
  readonly #losses: { readonly at: number; readonly wasRestored: boolean }[] = [];
  /** How many of the present faults may let a lease outlive its node, and when the last such fault ended. */
  #standstills = 0;
  #lastStandstillAt = Number.NEGATIVE_INFINITY;
  /** Called when a candidate has just sent a claim. */
  onClaim: (host: Host) => void = ignore;
  readonly #settleMs: number;
  readonly #recoveryTimes: RecoveryTimes;
  /** How many candidates had no heartbeat node when all was healed. */
  #unprovable = 0;

  constructor(seed: number, rules: Rules, faultRate: FaultRate) {
    super(seed);
    this.faultRate = faultRate;
    this.lateReplies = faultRate === 'stalls' ? lateRepliesOf(seed) : undefined;
    const { setup } = this;
    const tickMs = setup.pick(faultRate === 'few' ? [2000] : [1000, 2000]);
    const syncLimit = setup.pick([5, 5, 10]);
    const sessionTimeoutMs = tickMs * setup.pick(SESSION_TICKS[faultRate]);
    this.#priorities = setup.chance(0.3);
    const supervised = setup.chance(0.6);
    this.#kind = rules === 'curator' ? 'curator' : supervised ? 'supervised' : 'elector';
    if (rules !== 'curator') setup.chance(0); // The seeds in failing-seeds.json count this draw.
    const committedLeaders = new CommittedLeaders(() => this.scheduler.now);
    this.ensemble = new Ensemble({ tickMs, syncLimit }, this.scheduler, this.model, {
      count: (what) => this.ledger.count(what),
      applied: ({ zxid, tree }, change) => committedLeaders.applied(zxid, change, (path) => tree.get(path)),
      shown: (sessionId, process, isNew) => this.#shown(sessionId, process, isNew),
    });
    this.isGuarded = setup.chance(0.4) && rules !== 'curator';
    const [observes, hasObserver] = [setup.chance(0.3), setup.chance(0.4) && rules !== 'curator'];
    const mayLoseData = setup.chance(0.25) && rules === 'shipped' && faultRate !== 'takeover';
    // In which life of the ensemble a term began can't be told by clocks that are off.
    this.losesData = mayLoseData && this.clockFaults === undefined;
    this.#delayed = setup.pick(DELAYED);
    this.#prepares = this.preparations.chance(0.25);
    const { chance, leastMs } = SHORT_LEASES[faultRate];
    const optionMs = setup.chance(chance) ? setup.spread(leastMs, sessionTimeoutMs / 3) : undefined;
    const leaseMs = optionMs ?? sessionTimeoutMs / 3;
    const times = { tickMs, syncLimit, sessionTimeoutMs };
    const delayMs = Math.max(takeoverDelayMs(leaseMs), this.#delayed === 'none' ? 0 : sessionTimeoutMs);
    this.#recoveryTimes = {
      ...{ ...times, delayMs },
      ...{ hasPriorities: this.#priorities, losesData: this.losesData },
    };
    this.#servedBoundMs = servedBoundMs(times);
    this.checker = new LeadershipChecker(
      this.ledger,
      () => this.hosts.map(({ candidate }) => candidate),
      () => {
        const last = this.#losses.at(-1);
        return { lostAt: last?.at ?? Number.NEGATIVE_INFINITY, wasRestored: last?.wasRestored ?? false };
      },
      () => this.scheduler.now,
      leaseMs * (1 + 2 * WORST_DRIFT),
    );
    this.#settleMs = sessionTimeoutMs + 2 * tickMs + LONGEST_ON_ITS_WAY_MS;
    const { ensemble } = this;
    const queues = {
      childrenOf: (path: string) => ensemble.furthest.tree.get(path)?.children ?? [],
      dataOf: (path: string) => ensemble.furthest.tree.get(path)?.data ?? undefined,
    };
    this.surroundings = {
      scheduler: this.scheduler,
      ledger: this.ledger,
      checker: this.checker,
      resource: new FencedResource('leaders', this.ledger),
      lockResource: new FencedResource('locks', this.ledger),
      lockChecker: new LockChecker(this.ledger, queues, () => this.areLeasesUnsure),
      lockUses: new Set(),
      rules,
      sessionTimeoutMs,
      leaseMs: optionMs,
      lifeAt: (wallTime) => this.#losses.filter(({ at }) => at < wallTime).length,
      committedLeaders,
      staleMs: staleBoundMs(times),
      observes,
      checkKept: (candidate, sentAt) => checkKept(this, candidate, sentAt),
    };
    this.maxStallMs = faultRate === 'stalls' ? setup.spread(1.1, 12) * leaseMs : undefined;
    this.hosts = Array.from({ length: CANDIDATES }, (_, index) => {
      const routes = this.newRoutes();
      return { index, routes, candidate: this.#newCandidate(index, routes), parent: undefined };
    });
    this.observerHosts = Array.from({ length: hasObserver ? 1 : 0 }, () => {
      const routes = this.newRoutes();
      return { routes, observer: this.#newObserver(routes) };
    });
  }

  /** If there are candidates that hold a lock, one of them half of the time. Otherwise the leader half of the time, or any candidate. */
  someHost(random: Random): Host {
    const { lockChecker } = this.surroundings;
    const holding = this.hosts.filter(({ candidate }) => lockChecker.isHeldBy(candidate));
    if (holding.length > 0 && random.chance(0.5)) return random.pick(holding);
    const leading = this.hosts.find(({ candidate }) => candidate.isActing);
    return leading !== undefined && random.chance(0.5) ? leading : random.pick(this.hosts);
  }

  somePlace(random: Random): Place {
    const { candidate, routes } = this.someHost(random);
    return { environment: candidate.environment, routes };
  }

  start(): void {
    for (const host of this.hosts) this.#begin(host);
    for (const observerHost of this.observerHosts) this.#beginToLook(observerHost);
    this.#lookAround();
  }

  get observers(): CheckedObserver[] {
    const all = [
      ...this.observerHosts.map(({ observer }) => observer),
      ...this.hosts.map(({ candidate }) => candidate.observer),
    ];
    return all.filter((each) => each !== undefined);
  }

  #lookAround(): void {
    this.scheduler.after(LOOK_EVERY_MS, () => {
      for (const each of this.observers) each.checkStaleness();
      for (const { candidate } of this.hosts) this.#checkServed(candidate.environment);
      for (const { observer } of this.observerHosts) this.#checkServed(observer.environment);
      this.#lookAround();
    });
  }

  /** Checks that each session is served again or over when all is well, whatever faults the servers have had. */
  #checkServed({ clock, sessions }: SimulatedEnvironment): void {
    if (clock.isDead || clock.isFrozen) return;
    for (const session of sessions) {
      const { state } = session;
      if (state.name !== 'suspended') continue;
      const since = Math.max(this.#healedAt, clock.runsSince, clock.wallTimeOf(state.sinceMs));
      const unservedMs = this.scheduler.now - since;
      const inThousandths = (1000 * unservedMs) / this.#servedBoundMs;
      if (unservedMs > 0)
        this.ledger.time('a session was neither served nor over, in thousandths of the bound', inThousandths);
      if (unservedMs < this.#servedBoundMs) continue;
      this.ledger.violate('session', `${clock.name} has one that is neither served nor over`);
      sessions.delete(session); // It is reported once.
    }
  }

  /**
   * All servers lose their data, or come back with an earlier state. Promises by the lost data are void, and all numbers
   * begin again.
   *
   * @returns a function that starts the servers again
   */
  loseData(): () => void {
    const { ensemble, faults } = this;
    const share = faults.chance(0.6) ? 0 : faults.next();
    this.#losses.push({ at: this.scheduler.now, wasRestored: share > 0 });
    this.ledger.count(share > 0 ? 'ensemble: restored from an earlier state' : 'ensemble: lost all data');
    ensemble.loseData(share);
    const { committedLeaders, resource, lockResource, lockChecker } = this.surroundings;
    const { zxid, tree } = ensemble.furthest;
    committedLeaders.beginAnew(zxid, (path) => tree.get(path));
    this.#cameBack = [...this.#places()].map(({ path }) => path);
    for (const each of [resource, lockResource, lockChecker]) each.beginAnew();
    const endStandstill = this.beginStandstill();
    return () => {
      for (const server of ensemble.servers) server.restart();
      endStandstill();
    };
  }

  /** A session belongs to its process. After the end of that process it belongs to the guardian, which cleans it up. */
  #shown(sessionId: bigint, process: Machine, isNew: boolean): void {
    const owner = this.#owners.get(sessionId);
    if (isNew) this.#owners.set(sessionId, process);
    else if (owner !== undefined && owner !== process && !owner.isDead)
      this.ledger.violate('live session taken', `that of ${owner.name}, by ${process.name}`);
  }

  /** A process has stopped by itself. Checks that it has left nothing behind, and puts another one in its place. */
  retire(host: Host): void {
    host.candidate.endWorker();
    for (const each of host.candidate.leftovers)
      this.ledger.violate('leftovers', `of a process that stopped: ${each}`);
    host.candidate.environment.clock.kill();
    host.parent?.childEnded(false);
    this.replace(host);
  }

  /** Like {@link retire}, for a process that only observes. */
  retireObserver(observerHost: ObserverHost): void {
    for (const each of observerHost.observer.leftovers)
      this.ledger.violate('leftovers', `of a process that stopped: ${each}`);
    observerHost.observer.environment.clock.kill();
    this.replaceObserver(observerHost);
  }

  replaceObserver(observerHost: ObserverHost): void {
    observerHost.observer = this.#newObserver(observerHost.routes);
    this.#beginToLook(observerHost);
  }

  /** A fault begins after which a lease may outlive its node. Returns what ends it. */
  beginStandstill(): () => void {
    this.#standstills++;
    return () => {
      this.#standstills--;
      this.#lastStandstillAt = this.scheduler.now;
    };
  }

  /** Whether a lease may outlive its node: during such a fault, and for a while after it, when held-back packets arrive. */
  get areLeasesUnsure(): boolean {
    return this.#standstills > 0 || this.scheduler.now - this.#lastStandstillAt < this.#settleMs;
  }

  /** From now on nothing is wrong. */
  beginCalm(): void {
    this.#healedAt = this.scheduler.now;
    this.clockFaults?.end();
  }

  /** From now on something may be wrong. */
  endCalm(): void {
    this.#healedAt = Number.POSITIVE_INFINITY;
    this.clockFaults?.begin();
  }

  /** Puts another process in the place of one that is gone. */
  replace(host: Host): void {
    host.candidate = this.#newCandidate(host.index, host.routes);
    this.#begin(host);
  }

  #begin(host: Host): void {
    const { candidate } = host;
    if (this.isGuarded) {
      if (host.parent === undefined || host.parent.isDead) host.parent = this.#newParent(host);
      host.parent.fork(candidate.environment);
    }
    this.run(candidate.environment.clock, () => candidate.start());
  }

  #beginToLook({ observer }: ObserverHost): void {
    this.run(observer.environment.clock, () => observer.start());
  }

  #newParent({ index, routes }: Host): Parent {
    const random = this.newRandom();
    const environment = this.newEnvironment(`parent ${index}`, routes, random);
    return new Parent(environment, this.scheduler, random, this.ledger);
  }

  #newObserver(routes: readonly Route[]): CheckedObserver {
    const random = this.newRandom();
    const name = this.nextName('observer');
    return new CheckedObserver(name, this.newEnvironment(name, routes, random), this.surroundings);
  }

  #newCandidate(index: number, routes: readonly Route[]): Candidate {
    const random = this.newRandom();
    const environment = this.newEnvironment(`candidate ${index}`, routes, random);
    const id = this.nextName('process');
    const priority = this.#priorities ? random.below(3) : 0;
    const isDelayed = this.#delayed === 'some' ? random.pick([false, true]) : this.#delayed === 'all';
    const setup: CandidateSetup = {
      id,
      priority,
      takeoverDelayMs: isDelayed ? this.surroundings.sessionTimeoutMs : undefined,
      maxStallMs: this.maxStallMs !== undefined && random.chance(0.8) ? this.maxStallMs : undefined,
      preparations: this.#prepares ? this.preparations : undefined,
      environment,
      random,
      surroundings: this.surroundings,
    };
    if (setup.maxStallMs !== undefined) environment.allowThread(random);
    environment.onClaim = () => this.onClaim(this.hosts[index] as Host);
    switch (this.#kind) {
      case 'supervised':
        return new SupervisedCandidate(setup);
      case 'elector':
        return new ElectorCandidate(setup);
      case 'curator':
        return new CuratorCandidate(setup);
    }
  }

  get isLed(): boolean {
    return this.leader !== undefined;
  }

  /** Whether applications, by what they do, keep the election without a leader. */
  get isHeldUp(): boolean {
    const candidates = this.hosts.map(({ candidate }) => candidate);
    return (
      candidates.every(({ isCleaning }) => isCleaning) ||
      candidates.some(({ isOverrunning }) => isOverrunning)
    );
  }

  /** How long it may take from the end of all faults until there is a leader. */
  get recoveryBoundMs(): number {
    return recoveryBoundMs({ ...this.#recoveryTimes, unprovable: this.#unprovable });
  }

  /** Whether a candidate can prove its node: an operator may have deleted its heartbeat node. */
  canProve(path: string): boolean {
    return this.ensemble.furthest.tree.get(heartbeatPathOf(path)) !== undefined;
  }

  /**
   * Whether for some time all servers have served, no application has held anything up, and a candidate has waited to lead next.
   */
  get isWell(): boolean {
    const candidates = this.hosts.map(({ candidate }) => candidate);
    return (
      this.scheduler.now - this.#healedAt > this.recoveryBoundMs &&
      !this.isHeldUp &&
      candidates.every((each) => each.isActing || each.isWaiting) &&
      candidates.some((each) => each.isWaiting) &&
      this.ensemble.servers.every(({ role }) => role !== 'looking')
    );
  }

  get leader(): Candidate | undefined {
    return this.hosts.find(({ candidate }) => candidate.isActing)?.candidate;
  }

  /** Everything works again: the network, the servers, the processes. */
  heal(): void {
    this.onClaim = ignore;
    if (this.#standstills > 0) this.#lastStandstillAt = this.scheduler.now;
    this.#standstills = 0;
    this.#unprovable = this.queue.filter((path) => !this.canProve(path)).length;
    const ways = [...this.hosts, ...this.observerHosts].flatMap((each) => each.routes);
    const channels = this.hosts.flatMap(({ parent }) => parent?.route ?? []);
    this.healServers([...ways, ...channels]);
    for (const host of this.hosts) {
      const { clock } = host.candidate.environment;
      clock.thaw();
      clock.endStall();
      clock.goOn();
      host.candidate.environment.thread?.heal();
      host.parent?.environment.clock.thaw();
      if (clock.isDead) this.replace(host);
    }
    for (const observerHost of this.observerHosts) {
      const { clock } = observerHost.observer.environment;
      clock.thaw();
      clock.goOn();
      if (clock.isDead) this.replaceObserver(observerHost);
    }
    this.beginCalm();
  }

  /** Checks, when all has been well for long, that observers show the truth and that nothing is left of ended sessions. */
  checkCalm(): void {
    if (this.scheduler.now - this.#healedAt < this.recoveryBoundMs + this.surroundings.staleMs) return;
    for (const each of this.observers) each.checkLeader();
    for (const { path, owner } of this.#places()) this.#checkOwner(path, owner);
  }

  /** The election's record, by the newest state of any server. */
  get record(): ReadRecord {
    const found = this.ensemble.furthest.tree.get(ELECTION);
    return parseRecord(found?.data ?? Buffer.alloc(0), found?.version ?? 0);
  }

  /** The paths of the candidates' nodes, in their order, by the newest state of any server. */
  get queue(): string[] {
    const children = this.ensemble.furthest.tree.get(ELECTION)?.children ?? [];
    return queueOf([...children], parseEntry).map(({ node }) => `${ELECTION}/${node}`);
  }

  /** How long a lease lasts in this world. */
  get leaseMs(): number {
    const { leaseMs, sessionTimeoutMs } = this.surroundings;
    return leaseMs ?? sessionTimeoutMs / 3;
  }

  /** The nodes in all queues, and those that heartbeats write, by the newest state of any server. */
  *#places(): Generator<{ readonly path: string; readonly owner: bigint }> {
    const { tree } = this.ensemble.furthest;
    for (const queue of [ELECTION, ...LOCK_PATHS])
      for (const node of tree.get(queue)?.children ?? []) {
        const path = `${queue}/${node}`;
        if (isOfContender(node)) yield { path, owner: tree.get(path)?.ephemeralOwner ?? 0n };
      }
  }

  /**
   * Whether an earlier state of the ensemble has brought back a node that its session had given up, and with it the session, which lives
   * because the servers know it again. All candidates wait for that node until the session ends.
   */
  get isHaunted(): boolean {
    return [...this.#places()].some(
      ({ path }) => path.startsWith(ELECTION) && !isHeartbeatNode(path) && this.#isGhost(path),
    );
  }

  #isGhost(path: string): boolean {
    if (!this.#cameBack.includes(path)) return false;
    const queue = path.slice(0, path.lastIndexOf('/'));
    return this.hosts.every(({ candidate }) => candidate.environment.nodes.get(queue)?.path !== path);
  }

  #checkOwner(path: string, sessionId: bigint): void {
    this.ledger.count('nodes of which the session was looked at');
    const owners = this.hosts.map(({ candidate }) => candidate.environment.sessionId);
    if (!owners.includes(sessionId)) this.ledger.violate('leftovers', `${path}, of a session that is over`);
  }

  /** Called after all have stepped down, and again after all have stopped. */
  checkLeftovers(when: string): void {
    const found = this.leftoversOf(
      [ELECTION, ...LOCK_PATHS],
      (node, queue) => isOfContender(node) && !this.#isGhost(`${queue}/${node}`),
    );
    const known = this.ensemble.servers.map(
      ({ replica }) => `${replica.zxid}: ${[...replica.tree.paths()].join(' ')}`,
    );
    if (new Set(known).size > 1) found.push('servers that do not agree');
    for (const each of found) this.ledger.violate('leftovers', `${when}: ${each}`);
  }
}

/** Whether a candidate's heartbeats write it. */
export function isHeartbeatNode(path: string): boolean {
  return path.slice(path.lastIndexOf('/') + 1).startsWith('_h_');
}

/** Whether it goes with a place in a queue. */
function isOfContender(node: string): boolean {
  return parseLockEntry(node) !== undefined || isHeartbeatNode(node);
}
