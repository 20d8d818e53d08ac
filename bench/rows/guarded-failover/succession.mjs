import { fork } from 'node:child_process';
import { endProcess } from '../../../tools/processes.mjs';
import { told } from '../../harness/child.mjs';
import { now } from '../../harness/clock.mjs';

/**
 * A candidate's process, and what it reports: that it has joined, and when it was elected.
 *
 * @typedef {{ child: import('node:child_process').ChildProcess, joined: Promise<any>, electedAt: Promise<number> }} Candidate
 */

/** An election in which the leader is killed again and again. */
export class Succession {
  #script;
  #watch;
  /** @type {Candidate | undefined} */
  #leader;
  /** @type {Candidate | undefined} */
  #next;
  /** @type {number[]} */
  tookMs = [];

  /**
   * @param {URL} script the program of a candidate
   * @param {{ connect: string, path: string, sessionTimeoutMs: number }} place
   * @param {(child: import('node:child_process').ChildProcess) => unknown} [watch] called with each process
   */
  constructor(script, place, watch = () => undefined) {
    this.#script = script;
    this.#watch = watch;
    this.place = place;
  }

  /** Waits until one candidate leads, and another waits. */
  async prepare() {
    this.#leader ??= await this.#start();
    await this.#leader.electedAt;
    this.#next = await this.#start();
  }

  /** @returns {Promise<Candidate>} */
  async #start() {
    const { connect, path, sessionTimeoutMs } = this.place;
    const child = fork(this.#script, [connect, path, String(sessionTimeoutMs)]);
    const candidate = { child, joined: told(child, 'joined'), electedAt: told(child, 'electedAt') };
    this.#watch(child);
    await candidate.joined;
    return candidate;
  }

  /** Kills the leader, and notes the time from its end, as this process learned of it, until the next candidate led. */
  async fail() {
    const [leader, next] = [this.#leader, this.#next];
    if (leader === undefined || next === undefined) throw new Error('no leader or successor was prepared');
    const follow = await this.followUp(leader, next);
    await endProcess(leader.child);
    const endedAt = now();
    await follow();
    this.tookMs.push((await next.electedAt) - endedAt);
    this.#leader = next;
  }

  /**
   * Returns what is to be done when the leader has ended.
   *
   * @param {Candidate} _leader @param {Candidate} _next
   * @returns {Promise<() => Promise<void>>}
   */
  async followUp(_leader, _next) {
    return async () => undefined;
  }

  async end() {
    if (this.#leader !== undefined) await endProcess(this.#leader.child);
  }
}
