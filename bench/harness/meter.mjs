import { setTimeout as pause } from 'node:timers/promises';
import { lastTransaction, serverCounts } from '../../tools/zookeeper/counts.mjs';
import { fourLetterWord } from '../../tools/zookeeper/four-letter-word.mjs';

/**
 * @typedef {{ requests: number, notifications: number }} Traffic the requests that servers received from clients, and
 * the watch notifications that they sent
 */
/** @typedef {{ znodes: number, ephemerals: number, watches: number }} Holdings the nodes, the ephemeral ones of them, and the watches that servers keep */

const QUIET_MS = 15;

/** Measures the traffic of some servers by their own counts, without the meter's own questions. */
export class Meter {
  /** @type {readonly number[]} */
  #ports;
  #questions = 0;
  /** The requests that the servers count for one question. They may count requests of others with it, so this is the least number seen. */
  #perQuestion = Number.POSITIVE_INFINITY;

  /** @param {readonly number[]} ports the client ports of the servers */
  constructor(ports) {
    this.#ports = ports;
  }

  /**
   * The traffic of the servers while `task` ran.
   *
   * @param {() => Promise<unknown>} task
   * @returns {Promise<Traffic>}
   */
  async during(task) {
    const earlier = await this.#read();
    const before = await this.#read();
    this.#perQuestion = Math.min(this.#perQuestion, before.requests - earlier.requests);
    await task();
    const after = await this.#read();
    return {
      requests: after.requests - before.requests - (after.questions - before.questions) * this.#perQuestion,
      notifications: after.notifications - before.notifications,
    };
  }

  /** Resolves when the servers have had nothing to do for a moment. */
  async quiet() {
    for (let last = await this.#read(); ; ) {
      await pause(QUIET_MS);
      const now = await this.#read();
      const requests = now.requests - last.requests;
      if (requests === this.#perQuestion && now.notifications === last.notifications) return;
      // A lower cost than before counts only when it is seen again.
      this.#perQuestion = Math.min(this.#perQuestion, requests);
      last = now;
    }
  }

  /**
   * The number of operations that clients requested while `task` ran, on the connections that are open at its end. The client
   * numbers each operation. Pings have no number, and some clients send them every ten seconds whatever their session timeout is.
   *
   * @param {() => Promise<unknown>} task
   */
  async operationsDuring(task) {
    const before = await this.#lastOperations();
    await task();
    let operations = 0;
    for (const [session, last] of await this.#lastOperations())
      operations += last - (before.get(session) ?? 0);
    return operations;
  }

  /**
   * The number of transactions that the servers carried out while `task` ran. A transaction is one write, or several writes that are
   * carried out together. The beginning and the end of a session count too.
   *
   * @param {() => Promise<unknown>} task
   */
  async transactionsDuring(task) {
    const before = await lastTransaction(this.#ports);
    await task();
    return (await lastTransaction(this.#ports)) - before;
  }

  /** The number of the last operation of each session. @returns {Promise<Map<string, number>>} */
  async #lastOperations() {
    const reports = await Promise.all(this.#ports.map((port) => fourLetterWord(port, 'cons')));
    const sessions = reports.join('').matchAll(/\bsid=(0x\w+),.*\blcxid=0x(\w+)/g);
    // A session that has requested nothing isn't among them.
    return new Map([...sessions].map(([, session = '', last = '']) => [session, Number.parseInt(last, 16)]));
  }

  /** @returns {Promise<Holdings>} */
  async holdings() {
    return await this.#read();
  }

  async #read() {
    return { ...(await serverCounts(this.#ports)), questions: ++this.#questions };
  }
}
