import { fork } from 'node:child_process';
import { once } from 'node:events';

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
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exited;
  }
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
