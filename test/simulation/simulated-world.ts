import { Random } from '../support/seeded-random.js';
import { SimulatedEnvironment } from './candidates/environment.js';
import { ClockFaults } from './clock-faults.js';
import { Ledger } from './ledger.js';
import { Machine } from './machine.js';
import { type Ensemble, WORST_DRIFT } from './model/ensemble.js';
import type { Server } from './model/server.js';
import { Route } from './network.js';
import { type Happening, Scheduler } from './scheduler.js';

const SERVERS = 3;

/** Chance, in streams of its own for each purpose. */
const STREAMS = { setup: 0, model: 1, clients: 2, faults: 3, preparations: 5 } as const;

/** A process that may be disturbed, and its ways to the servers, which stay when it is replaced. */
export interface Place {
  readonly environment: SimulatedEnvironment;
  readonly routes: readonly Route[];
}

/** An ensemble, the network, and processes that use the ensemble: all that happens follows from the seed. */
export abstract class SimulatedWorld {
  readonly scheduler = new Scheduler();
  readonly ledger = new Ledger(() => this.scheduler.now);
  readonly faults: Random;
  readonly preparations: Random;
  readonly clockFaults: ClockFaults | undefined;
  abstract readonly ensemble: Ensemble;
  /** How long it may take from the end of all faults until all is as it should be. */
  abstract readonly recoveryBoundMs: number;
  protected readonly setup: Random;
  protected readonly model: Random;
  protected readonly clients: Random;
  #processes = 0;
  #later: Happening[] = [];

  constructor(seed: number) {
    this.setup = new Random(seed, STREAMS.setup);
    this.model = new Random(seed, STREAMS.model);
    this.clients = new Random(seed, STREAMS.clients);
    this.faults = new Random(seed, STREAMS.faults);
    this.preparations = new Random(seed, STREAMS.preparations);
    this.clockFaults = ClockFaults.of(seed, () => this.ledger.count('pauses after a reading of a clock'));
  }

  abstract start(): void;

  /** A process that a fault may hit. */
  abstract somePlace(random: Random): Place;

  /** The leading server half of the time, or any server. */
  someServer(random: Random): Server {
    const { leader, servers } = this.ensemble;
    return leader !== undefined && random.chance(0.5) ? leader : random.pick(servers);
  }

  protected newRoutes(): Route[] {
    return Array.from({ length: SERVERS }, () => new Route(this.scheduler, this.model));
  }

  protected newRandom(): Random {
    return new Random(this.clients.bits(), STREAMS.clients);
  }

  protected newEnvironment(name: string, routes: readonly Route[], random: Random): SimulatedEnvironment {
    const rate = 1 + random.between(-WORST_DRIFT, WORST_DRIFT);
    const machine = new Machine(name, rate, this.scheduler, random, true, this.clockFaults);
    return new SimulatedEnvironment(machine, random, this.ensemble.servers, routes, this.scheduler);
  }

  protected nextName(kind: string): string {
    return `${kind}-${++this.#processes}`;
  }

  /** A process begins, unless it is killed before. */
  protected run(process: Machine, main: () => void): void {
    this.scheduler.after(this.clients.between(0, 500), () => process.receive(main));
  }

  /** Runs a part of a fault later, unless everything is healed by then. */
  later(ms: number, task: () => void): void {
    this.#later.push(this.scheduler.after(ms, task));
  }

  /** The network and the servers work again. @param routes - those to the servers, and between processes */
  protected healServers(routes: readonly Route[]): void {
    for (const each of this.#later) each.cancelled = true;
    this.#later = [];
    for (const route of [...this.ensemble.routes, ...routes]) route.heal();
    for (const server of this.ensemble.servers) {
      server.machine.thaw();
      server.restart();
    }
  }

  /** The nodes below these that no process should have left behind, and the watches. */
  protected leftoversOf(
    queues: readonly string[],
    isLeftover: (node: string, queue: string) => boolean,
  ): string[] {
    const { leader, servers } = this.ensemble;
    const found: string[] = [];
    for (const queue of queues)
      for (const node of leader?.replica.tree.get(queue)?.children ?? [])
        if (isLeftover(node, queue)) found.push(`the node ${queue}/${node}`);
    const watches = servers.reduce((sum, server) => sum + server.watches, 0);
    if (watches > 0) found.push(`${watches} watches`);
    if (leader === undefined) found.push('no ensemble to look at');
    return found;
  }
}
