import { fork } from 'node:child_process';
import { once } from 'node:events';
import { endProcess } from '../../tools/processes.mjs';

/** A child process of a row, which carries out commands one after the other. */
export class Child {
  #process;

  /**
   * @param {URL} script a program that calls {@link serve}
   * @param {{ execArgv?: string[], args?: string[] }} [options]
   */
  constructor(script, { execArgv = [], args = [] } = {}) {
    this.#process = fork(script, args, { execArgv });
  }

  /**
   * @param {string} order
   * @param {unknown[]} args
   * @returns {Promise<any>} the child's answer
   */
  async ask(order, ...args) {
    const gone = new AbortController();
    const ended = once(this.#process, 'exit', { signal: gone.signal }).then(([code, signal]) => {
      throw new Error(`the process ended during '${order}' (${code ?? signal})`);
    });
    ended.catch(() => undefined); // Ignored once the child has answered.
    this.#process.send([order, ...args]);
    try {
      const [message] = await Promise.race([once(this.#process, 'message', { signal: gone.signal }), ended]);
      if ('error' in message) throw new Error(message.error);
      return message.answer;
    } finally {
      gone.abort();
    }
  }

  /** Suspends the child with its connections open. */
  freeze() {
    this.#process.kill('SIGSTOP');
  }

  /** Continues after {@link freeze}. */
  thaw() {
    this.#process.kill('SIGCONT');
  }

  /** Kills the child. */
  async end() {
    await endProcess(this.#process);
  }
}

/**
 * Resolves with what a process reports to its parent under this name, and rejects if the process ends before that.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @param {string} name
 * @returns {Promise<any>}
 */
export function told(child, name) {
  const said = new Promise((resolve, reject) => {
    child.on('message', (/** @type {any} */ message) => {
      if (message?.[name] !== undefined) resolve(message[name]);
    });
    // Unlike `exit`, it comes after all messages.
    child.once('disconnect', () => reject(new Error(`a process has ended too early: expected '${name}'`)));
  });
  said.catch(() => undefined); // Not every caller asks for it.
  return said;
}

/**
 * In the child process: carries out commands until the parent disconnects.
 *
 * @param {Record<string, (...args: any[]) => unknown>} orders
 */
export function serve(orders) {
  process.on('message', async (/** @type {[string, ...unknown[]]} */ [order, ...args]) => {
    try {
      process.send?.({ answer: await orders[order]?.(...args) });
    } catch (error) {
      process.send?.({ error: error instanceof Error ? error.stack : String(error) });
    }
  });
  process.on('disconnect', () => process.exit());
}

/**
 * In the child process: starts a candidate. Resolves when it leads or waits.
 *
 * @param {{ once(event: 'waiting' | 'elected', listener: () => void): unknown, start(): Promise<unknown> }} candidate
 */
export async function startCandidate(candidate) {
  const placed = new Promise((/** @type {(value: void) => void} */ resolve) => {
    for (const event of /** @type {const} */ (['waiting', 'elected'])) candidate.once(event, resolve);
  });
  await candidate.start();
  await placed;
}

/**
 * Runs `task` for each number from 0, some at a time.
 *
 * @template T
 * @param {number} count
 * @param {number} atOnce
 * @param {(index: number) => Promise<T>} task
 * @returns {Promise<T[]>} the results by number
 */
export async function forEach(count, atOnce, task) {
  /** @type {T[]} */
  const results = [];
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await task(index);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker));
  return results;
}
