import { fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SessionGuardian } from 'conclave';
import { endProcess } from '../../../tools/processes.mjs';
import { now } from '../../harness/clock.mjs';
import { startServers } from '../../harness/servers.mjs';

const SCRIPT = fileURLToPath(new URL('../processes/shard-worker.mjs', import.meta.url));
export const WORKERS = 8;
export const SHARDS = 256;
export const SESSION_MS = 6000;
export const TICK_MS = 500;
// A guardian learns of a new worker from the worker's first messages, and a heartbeat tells the planner of it.
const KNOWN_BY_THEN_MS = 500;
const PATIENCE_MS = 60_000;
// After this time the nodes of killed workers are gone, and the others know their places in the planner's election again.
const SETTLED_MS = 2 * SESSION_MS;

/** @typedef {'worker' | 'planner' | 'both'} Victim `both`: the planner and the next in line */
/** @typedef {{ victim: Victim, isGuarded: boolean, tookMs: number[] }} Killed */

/** A lease is a third of the session timeout. */
export const LEASE_MS = SESSION_MS / 3;

/**
 * Kills members of a group of processes, again and again, and replaces them.
 *
 * @param {object} plan
 * @param {boolean} plan.isGuarded
 * @param {readonly Victim[]} plan.victims one after the other
 * @param {(text: string) => void} plan.say
 * @returns {Promise<Killed[]>} with the times until all shards of the killed workers had other owners: with a guardian since the parent's
 *   `exit` event, else since the kill
 */
export async function measureKilled({ isGuarded, victims, say }) {
  const servers = await startServers({ tickMs: TICK_MS });
  const guardian = isGuarded ? new SessionGuardian({ connect: servers.connect }) : undefined;
  guardian?.on('error', (error) => console.error(error));
  const workers = new Workers(servers.connect, guardian);
  /** @type {Map<Victim, number[]>} */
  const tookMs = new Map();
  try {
    for (const [round, victim] of victims.entries()) {
      await workers.complete();
      if (victim === 'both') await pause(SETTLED_MS);
      tookMs.set(victim, [...(tookMs.get(victim) ?? []), await workers.kill(victim)]);
      if (round % 10 === 9) say(`shards: ${round + 1} of ${victims.length} kills`);
    }
  } finally {
    await workers.end();
    await guardian?.close();
    await servers.stop();
  }
  return [...tookMs].map(([victim, times]) => ({ victim, isGuarded, tookMs: times }));
}

/** A worker's process. */
class Worker {
  hasJoined = false;
  isAlive = true;
  /** The shards that the worker has reported as its own. @type {Set<string>} */
  shards = new Set();

  /** @param {string} connect */
  constructor(connect) {
    this.child = fork(SCRIPT, [connect, '/group', String(SHARDS), String(SESSION_MS)]);
  }
}

/** The processes of a group, in the order in which they have joined. */
class Workers {
  #connect;
  #guardian;
  /** @type {Worker[]} */
  #all = [];
  /** The worker that planned last. @type {Worker | undefined} */
  #planner;
  /** The worker that claimed each shard last, and when. @type {Map<string, { owner: Worker, at: number }>} */
  #claims = new Map();
  #heard = new EventEmitter();

  /** @param {string} connect @param {SessionGuardian | undefined} guardian */
  constructor(connect, guardian) {
    this.#connect = connect;
    this.#guardian = guardian;
  }

  /** Replaces killed workers, one after the other, and waits until each worker has its part of the shards. */
  async complete() {
    while (this.#all.length < WORKERS) {
      const worker = this.#start();
      await this.#until(() => worker.hasJoined, 'a new worker is a member');
    }
    const isBalanced = () => this.#all.every(({ shards }) => shards.size === SHARDS / WORKERS);
    await this.#until(isBalanced, 'each worker has its part of the shards');
    await pause(KNOWN_BY_THEN_MS);
  }

  #start() {
    const worker = new Worker(this.#connect);
    this.#all.push(worker);
    worker.child.on('message', (message) => this.#hear(worker, /** @type {any} */ (message)));
    this.#guardian?.watch(worker.child);
    return worker;
  }

  /**
   * Handles the messages of a worker. Other messages are for the guardian.
   *
   * @param {Worker} worker
   * @param {{ joined?: true, planned?: true, acquired?: string, released?: string, at?: number }} message
   */
  #hear(worker, { joined, planned, acquired, released, at }) {
    if (joined) worker.hasJoined = true;
    if (planned && worker.isAlive) this.#planner = worker;
    if (released !== undefined) worker.shards.delete(released);
    if (acquired !== undefined && at !== undefined) {
      worker.shards.add(acquired);
      this.#claims.set(acquired, { owner: worker, at });
    }
    this.#heard.emit('message');
  }

  /** @param {Victim} victim @returns {Promise<number>} how long its shards were without an owner, in milliseconds */
  async kill(victim) {
    const victims = this.#chosen(victim);
    const lost = victims.flatMap(({ shards }) => [...shards]);
    const exits = victims.map(({ child }) => once(child, 'exit'));
    const killedAt = now();
    for (const worker of victims) {
      worker.isAlive = false;
      worker.child.kill('SIGKILL');
    }
    await Promise.all(exits);
    const endedAt = now();
    this.#all = this.#all.filter(({ isAlive }) => isAlive);
    const since = this.#guardian === undefined ? killedAt : endedAt;
    await this.#until(
      () => lost.every((shard) => this.#claims.get(shard)?.owner.isAlive),
      `${lost.length} shards of the killed workers have other owners`,
    );
    const times = lost.map((shard) => (this.#claims.get(shard)?.at ?? Number.NaN) - since);
    return Math.max(...times);
  }

  /** @param {Victim} victim */
  #chosen(victim) {
    const planner = this.#planner;
    const [next, ...others] = this.#all.filter((worker) => worker !== planner);
    const other = others[Math.floor(others.length / 2)];
    if (planner === undefined || next === undefined || other === undefined)
      throw new Error('there are too few workers');
    if (victim === 'both') return [planner, next];
    return [victim === 'planner' ? planner : other];
  }

  /** @param {() => boolean} isMet after a message @param {string} what */
  async #until(isMet, what) {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    try {
      while (!isMet()) await once(this.#heard, 'message', { signal });
    } catch (cause) {
      throw new Error(`not within ${PATIENCE_MS / 1000} s: ${what}`, { cause });
    }
  }

  async end() {
    await Promise.all(this.#all.map(({ child }) => endProcess(child)));
  }
}
