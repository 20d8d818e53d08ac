import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { endProcess } from '../../tools/processes.mjs';
import { told } from './child.mjs';

const SCRIPT = fileURLToPath(new URL('../rows/processes/warm-worker.mjs', import.meta.url));

/** @typedef {{ firstActAt: number, lastActAt?: number, longestPauseMs?: number }} Acts of a term, by a clock that all processes share; how it ended once that is known, and the longest pause between two acts, for which the machine was busy */

/** A worker in a process of its own, which acts every 5 ms while it leads. */
export class WarmWorker {
  /** The terms in which it has acted. @type {Acts[]} */
  terms = [];
  /** The times of the firings that it has run, one for each run. @type {number[]} */
  firings = [];

  /**
   * @param {string} connect
   * @param {string} path
   * @param {string} loads how it loads: `prepare`, `lead` or `nothing`
   * @param {number} [jobEveryMs] the period of a job that the leader runs; without it there is none
   */
  constructor(connect, path, loads, jobEveryMs) {
    this.child = fork(SCRIPT, [connect, path, loads, ...(jobEveryMs === undefined ? [] : [`${jobEveryMs}`])]);
    this.child.on('message', (/** @type {any} */ { firstActAt, firing, ...ended }) => {
      if (firstActAt !== undefined) this.terms.push({ firstActAt });
      if (ended.lastActAt !== undefined) Object.assign(this.terms.at(-1) ?? {}, ended);
      if (firing !== undefined) this.firings.push(firing);
    });
    this.joined = told(this.child, 'joined');
    this.loaded = loads === 'prepare' ? told(this.child, 'loaded') : this.joined;
    /** @type {Promise<number>} */
    this.firstActAt = told(this.child, 'firstActAt');
    /** @type {Promise<number>} */
    this.lastActAt = told(this.child, 'lastActAt');
  }

  /** Lets it hand over and end, as a deployment does, and waits for its end. @throws {Error} if it hasn't ended well */
  async stop() {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const [code, signal] = await exited;
    if (code !== 0) throw new Error(`a worker that was to stop has ended with ${code ?? signal}`);
  }

  async kill() {
    await endProcess(this.child);
  }
}
