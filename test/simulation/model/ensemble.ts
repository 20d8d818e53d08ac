import type { Random } from '../../support/seeded-random.js';
import { Machine } from '../machine.js';
import { Route } from '../network.js';
import type { Scheduler } from '../scheduler.js';
import type { OnApplied, Replica } from './replica.js';
import { Server } from './server.js';

/** How the ensemble is configured. */
export interface EnsembleTimes {
  readonly tickMs: number;
  /** For how many ticks a server believes in the others without hearing of them. */
  readonly syncLimit: number;
}

/** Observes the ensemble. */
export interface Witness {
  /** Something happened that is only counted, in a few words. */
  count(what: string): void;
  /** A server has applied a change. */
  readonly applied: OnApplied;
  /** A process has shown a session's credentials, or opens that session. */
  shown(sessionId: bigint, process: Machine, isNew: boolean): void;
}

const SERVERS = 3;
/** Clocks run at rates within 1 % of the right one. */
export const WORST_DRIFT = 0.01;

/** Three servers, and the network between them. */
export class Ensemble {
  readonly servers: readonly Server[];
  readonly times: EnsembleTimes;
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly #routes: readonly { readonly pair: readonly [number, number]; readonly route: Route }[];
  #sessions = 0;
  readonly witness: Witness;

  constructor(times: EnsembleTimes, scheduler: Scheduler, random: Random, witness: Witness) {
    this.witness = witness;
    this.times = times;
    this.scheduler = scheduler;
    this.random = random;
    this.#routes = (
      [
        [0, 1],
        [0, 2],
        [1, 2],
      ] as const
    ).map((pair) => ({ pair, route: new Route(scheduler, random) }));
    this.servers = Array.from({ length: SERVERS }, (_, index) => new Server(index, this));
  }

  newMachine(index: number): Machine {
    const rate = 1 + this.random.between(-WORST_DRIFT, WORST_DRIFT);
    return new Machine(`server ${index}`, rate, this.scheduler, this.random, false);
  }

  newSessionId(server: number): bigint {
    return (BigInt(server + 1) << 56n) | BigInt(++this.#sessions);
  }

  /** The time of day, for stats. */
  get timeMs(): number {
    return 1.7e12 + Math.floor(this.scheduler.now);
  }

  get routes(): readonly Route[] {
    return this.#routes.map(({ route }) => route);
  }

  /** The routes between a server and the others. */
  routesOf(server: Server): Route[] {
    return this.#routes.filter(({ pair }) => pair.includes(server.index)).map(({ route }) => route);
  }

  /** The routes from the one to the other, and back. */
  routeBetween(from: Server, to: Server) {
    const { pair, route } = this.#between(from, to);
    return pair[0] === from.index ? route : { there: route.back, back: route.there };
  }

  #between(a: Server, b: Server) {
    const found = this.#routes.find(({ pair }) => pair.includes(a.index) && pair.includes(b.index));
    if (found === undefined) throw new Error('a server has no way to itself');
    return found;
  }

  #reaches(a: Server, b: Server): boolean {
    return this.#between(a, b).route.isWhole;
  }

  /** The leader that has a quorum; while two believe in themselves, the later one. */
  get leader(): Server | undefined {
    return this.servers
      .filter((server) => server.isUp && server.isLeadingWithQuorum)
      .sort((a, b) => b.epoch - a.epoch)[0];
  }

  /** The state of the server with the highest zxid: no other server knows more. */
  get furthest(): Replica {
    return this.servers
      .map(({ replica }) => replica)
      .reduce((one, other) => (other.zxid > one.zxid ? other : one));
  }

  /**
   * All servers die and lose their data. Only the beginning of the committed log may be restored.
   *
   * @param share - the share of the log that is left: 0 for nothing
   */
  loseData(share: number): void {
    for (const server of this.servers) server.kill();
    const known = this.servers
      .map(({ committedLog }) => committedLog)
      .reduce((one, other) => (other.length > one.length ? other : one));
    const left = known.slice(0, Math.floor(share * known.length));
    for (const server of this.servers) server.replaceData(left);
  }

  /** A leader that a server may follow right now. */
  leaderFor(server: Server): Server | undefined {
    return this.servers.find(
      (other) =>
        other !== server &&
        other.isUp &&
        !other.machine.isFrozen &&
        other.isLeadingWithQuorum &&
        other.epoch >= server.epoch &&
        this.#reaches(server, other),
    );
  }

  /** If the servers that are looking and reach one another are a quorum, they elect the one that has seen most. */
  elect(server: Server): void {
    const others = this.servers.filter(
      (other) => other !== server && other.isLooking && this.#reaches(server, other),
    );
    const electors = [server, ...others];
    const best = electors.reduce((most, each) => (most.isBehind(each) ? each : most));
    const followers = electors.filter((each) => each !== best && this.#reaches(each, best));
    if (followers.length === 0) return;
    this.witness.count('ensemble: leaders elected');
    if (this.servers.some((each) => each.isUp && each.role === 'leading'))
      this.witness.count('ensemble: leaders elected while another believed in itself');
    best.lead(Math.max(...electors.map(({ epoch }) => epoch)) + 1, followers);
  }
}
