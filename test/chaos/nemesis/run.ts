import { setTimeout as pause } from 'node:timers/promises';
import type { Session } from '../../../src/index.js';
import { compareCopies, deleteDisputed } from './copies.js';
import { strike } from './faults.js';
import { History, type Journal, type Micros, now } from './history.js';
import { briefStorm, describeStorm, type Fault, type Links, type Storm, storms } from './schedule.js';
import {
  ELECTIONS,
  GONE_WITHIN_MS,
  JOURNALS,
  RECOVERY_MS,
  SERVERS,
  SESSION_TIMEOUT_MS,
  WORKERS,
} from './settings.js';
import { type Blow, NotYet, PassedOver } from './targets.js';
import { pathOf, queueOf, queuesOf } from './worker-protocol.js';
import { World } from './world.js';

export interface RunOptions {
  readonly seed: number;
  /** How long storms go on; `undefined` for a single storm that has every kind of fault. */
  readonly minutes: number | undefined;
  /** The number of the first storm: the seed's earlier storms are left out. */
  readonly firstStorm: number;
  readonly links: Links;
  /** Whether candidates wait until a former leader's lease is over, as they do by default. */
  readonly hasTakeoverDelay: boolean;
  /** Whether the threads that act by a handle don't ask it. That is wrong, and the checker has to find it. */
  readonly areThreadsCareless: boolean;
  /** Whether the workers count leases from the replies. That is wrong, and the checker has to find it. */
  readonly areLeasesFromReplies: boolean;
  /** A folder for sockets and similar files. The history is `historyPath`. */
  readonly folder: string;
  readonly historyPath: string;
  /** Receives the events of the run, as lines for people. */
  readonly say: (line: string) => void;
}

const NUMBERS = { workers: WORKERS, servers: SERVERS, journals: JOURNALS.length };
/** A storm, its end and the calm after it take longer than this. */
const ROUND_MS = 50_000;
/** The pause after each election has a leader again. A gap that begins after it doesn't come from a fault. */
const REST_MS = 10_000;
const RESIGNATION_MS = 3000;
/** In calms, leaders are blocked for these parts of their `maxStallMs`. */
const [LEAST_STALL, MOST_STALL] = [0.5, 0.85];
/** By then they act again. */
const AFTER_STALL_MS = 1500;
const COMES_WITHIN_MS = 15_000;
const EXPLAINED_WITHIN_MS = 5000;

/** The storms of a run, of which those begin for which there is time. */
export function stormsOf({
  seed,
  minutes,
  links,
}: Pick<RunOptions, 'seed' | 'minutes' | 'links'>): Iterable<Storm> {
  const numbers = { ...NUMBERS, links };
  return minutes === undefined ? [briefStorm(seed, numbers)] : storms(seed, numbers);
}

/** Runs storms and calms for so many minutes, and then the end. Everything that happened is in the history. */
export async function runChaos(options: RunOptions): Promise<void> {
  const { seed, minutes, firstStorm, links, folder, historyPath, say } = options;
  const { hasTakeoverDelay, areThreadsCareless, areLeasesFromReplies } = options;
  const history = new History(historyPath);
  const world = await World.open({
    ...{
      folder,
      history,
      historyPath,
      links,
      hasTakeoverDelay,
      areThreadsCareless,
      areLeasesFromReplies,
      seed,
    },
  });
  try {
    const notAllowed = [...world.notAllowed].map(([kind, why]) => `${kind}: ${why}`);
    history.write({
      kind: 'setting',
      seed,
      minutes,
      journals: JOURNALS,
      sessionTimeoutMs: SESSION_TIMEOUT_MS,
      links,
      hasTakeoverDelay,
      areThreadsCareless,
      areLeasesFromReplies,
      recoveryMs: RECOVERY_MS,
      notAllowed,
    });
    await world.begin();
    const nemesis = new Nemesis(world, say);
    const endAt = performance.now() + (minutes ?? 0) * 60_000;
    const hasTime = () => performance.now() < endAt - ROUND_MS;
    await nemesis.calm(0);
    for (const storm of stormsOf(options)) {
      if (storm.number < firstStorm) continue;
      await nemesis.storm(storm);
      await nemesis.calm(storm.number, storm.stall);
      if (!hasTime()) break;
    }
    await end(world);
    history.write({ kind: 'over' });
  } catch (error) {
    history.write({ kind: 'failure', what: (error as Error).message });
    throw error;
  } finally {
    await world.close();
  }
}

class Nemesis {
  readonly #world: World;
  readonly #history: History;
  readonly #say: (line: string) => void;
  #faults = 0;

  constructor(world: World, say: (line: string) => void) {
    this.#world = world;
    this.#history = world.history;
    this.#say = say;
  }

  /** Resolves when all of its faults have ended, and all servers serve. */
  async storm(storm: Storm): Promise<void> {
    this.#say(describeStorm(storm));
    this.#history.write({ kind: 'storm', storm: storm.number });
    await Promise.all(storm.faults.map((fault) => this.#suffer(fault)));
    await this.#world.allServe().catch(async ({ message }: Error) => {
      // It is written down, and the run goes on, because later events are worth knowing, too.
      this.#history.write({ kind: 'failure', what: message });
      await this.#world.restartServers();
    });
  }

  /**
   * Waits until all elections, locks and shards have a holder that acts, for as long as that may take. Then it makes leaders
   * resign, undisturbed.
   */
  async calm(number: number, stall = 0.5): Promise<void> {
    await this.#recover(number);
    if (await this.#reconcile()) await this.#recover(number);
    await pause(REST_MS);
    await this.#stallLeaders(stall);
    for (const journal of ELECTIONS) {
      const leader = this.#world.actorOf(journal);
      if (leader === undefined) continue;
      this.#history.write({
        kind: 'wish',
        what: 'a leader resigns',
        on: `${leader.name} of ${journal.name}`,
      });
      leader.resign(journal.name);
    }
    await pause(RESIGNATION_MS);
    this.#history.write({ kind: 'calm is over', storm: number });
  }

  /** Blocks the main threads of the leaders that have `maxStallMs`, for less than that: they keep their terms. */
  async #stallLeaders(share: number): Promise<void> {
    const leaders = new Set(ELECTIONS.map((election) => this.#world.actorOf(election)));
    let longestMs = 0;
    for (const leader of leaders) {
      if (leader?.maxStallMs === undefined) continue;
      const ms = Math.round(leader.maxStallMs * (LEAST_STALL + share * (MOST_STALL - LEAST_STALL)));
      longestMs = Math.max(longestMs, ms);
      this.#history.write({ kind: 'wish', what: 'a leader stalls', on: `${leader.name}, for ${ms} ms` });
      leader.block(ms, 'waits');
    }
    await pause(longestMs + AFTER_STALL_MS);
  }

  async #recover(storm: number): Promise<void> {
    const began = now();
    this.#history.write({ kind: 'calm', storm }, began);
    await this.#untilAllAct(began);
  }

  /**
   * Gives servers that differ from all others the others' data, and deletes the nodes about which they differed. The owner of
   * such a node has asked one server, whose answer may be the contrary of the present data. An owner that was told that the
   * node is gone never deletes it, and its session may live on. Returns whether there were such servers.
   */
  async #reconcile(): Promise<boolean> {
    const disagreements = await compareCopies(this.#world);
    for (const { what, odd } of disagreements) {
      const server = this.#world.servers[odd];
      this.#history.write({
        kind: 'servers disagree',
        what: `server ${server?.id} alone differs in ${what}`,
      });
    }
    const odd = this.#world.servers.filter((_, index) => disagreements.some((each) => each.odd === index));
    for (const server of odd) {
      await server.kill('SIGKILL');
      await server.forget();
      await server.start();
    }
    await this.#world.allServe();
    for (const node of await deleteDisputed(this.#world, disagreements)) {
      this.#note(`${node} was deleted: the servers had disagreed about it`);
    }
    return odd.length > 0;
  }

  async #untilAllAct(since: Micros): Promise<void> {
    const waiting = new Set(JOURNALS.map(({ name }) => name));
    const deadline = performance.now() + RECOVERY_MS;
    while (waiting.size > 0 && performance.now() < deadline) {
      for (const name of waiting) {
        const acts = this.#world.workers.some(({ actedAt }) => (actedAt.get(name) ?? 0) > since);
        if (acts) waiting.delete(name);
      }
      await pause(50);
    }
    for (const journal of JOURNALS) if (waiting.has(journal.name)) await this.#explain(journal);
  }

  /** Writes down how the servers and the workers see an election without a leader that acts. */
  async #explain(journal: Journal): Promise<void> {
    for (const worker of this.#world.workers) worker.explain(journal.name);
    for (const server of this.#world.servers) {
      const look = async (session: Session) => {
        const nodes = [pathOf(journal), ...(await this.#world.contendersIn(session, queueOf(journal)))];
        for (const node of nodes) {
          const { data, stat } = await session.getData(node);
          const owner = stat.ephemeralOwner.toString(16);
          this.#note(`server ${server.id}: ${node}: ${data}, version ${stat.version}, of session ${owner}`);
        }
      };
      await this.#world
        .withSession(EXPLAINED_WITHIN_MS, look, [server])
        .catch(({ message }: Error) => this.#note(message));
    }
  }

  #note(what: string): void {
    this.#history.write({ kind: 'note', what });
  }

  /** One fault, from its time to its end. */
  async #suffer(fault: Fault): Promise<void> {
    await pause(fault.atMs);
    const number = ++this.#faults;
    const { kind: name } = fault;
    try {
      const onEffect = (what: string) => this.#history.write({ kind: 'effect', fault: number, name, what });
      let at = now();
      const { on, mend } = await this.#whenItCan(() => {
        at = now(); // Finding the target takes a while. The fault is there from now on at the latest.
        return strike(this.#world, fault, onEffect);
      });
      this.#history.write({ kind: 'fault', fault: number, name, on }, at);
      await pause(fault.forMs);
      await mend();
      this.#history.write({ kind: 'mended', fault: number });
    } catch (error) {
      this.#report(error, name);
    }
  }

  /** Waits a while for a fault that can't come yet. */
  async #whenItCan(strike: () => Promise<Blow>): Promise<Blow> {
    const deadline = performance.now() + COMES_WITHIN_MS;
    for (;;) {
      try {
        return await strike();
      } catch (error) {
        if (!(error instanceof NotYet) || performance.now() > deadline) throw error;
        await pause(100);
      }
    }
  }

  #report(error: unknown, name: string): void {
    const { message } = error as Error;
    if (error instanceof PassedOver) this.#history.write({ kind: 'passed over', name, why: message });
    else this.#history.write({ kind: 'failure', what: `${name}: ${message}` });
  }
}

/**
 * Stops all workers and waits until no session can be left. Then it looks for leftovers on each server, since each has a copy of
 * its own.
 */
async function end(world: World): Promise<void> {
  await Promise.all(world.workers.map((worker) => worker.stop()));
  const deadline = performance.now() + GONE_WITHIN_MS;
  for (const server of world.servers) {
    const look = async (session: Session) => {
      const left = await untilGone(world, session, deadline);
      for (const path of left)
        world.history.write({ kind: 'left behind', path: `${path} on server ${server.id}` });
    };
    await world.withSession(GONE_WITHIN_MS, look, [server]);
  }
}

/** The nodes that are left after that. */
async function untilGone(world: World, session: Session, deadline: number): Promise<string[]> {
  for (;;) {
    const queues = queuesOf(JOURNALS);
    const lists = await Promise.all(queues.map((queue) => world.contendersIn(session, queue)));
    const left = lists.flat();
    if (left.length === 0 || performance.now() > deadline) return left;
    await pause(200);
  }
}
