import { fork } from 'node:child_process';
import { once } from 'node:events';

/** A process of a row's own, which does what it is told, one thing after the other. */
export class Child {
  #process;

  /**
   * @param {URL} script one that calls {@link serve}
   * @param {{ execArgv?: string[], args?: string[] }} [options]
   */
  constructor(script, { execArgv = [], args = [] } = {}) {
    this.#process = fork(script, args, { execArgv });
  }

  /**
   * @param {string} order
   * @param {unknown[]} args
   * @returns {Promise<any>} what it answers
   */
  async ask(order, ...args) {
    const gone = new AbortController();
    const ended = once(this.#process, 'exit', { signal: gone.signal }).then(([code, signal]) => {
      throw new Error(`the process ended at ${order} (${code ?? signal})`);
    });
    ended.catch(() => undefined); // Of no interest once it has answered.
    this.#process.send([order, ...args]);
    try {
      const [message] = await Promise.race([once(this.#process, 'message', { signal: gone.signal }), ended]);
      if ('error' in message) throw new Error(message.error);
      return message.answer;
    } finally {
      gone.abort();
    }
  }

  /** Makes it stand still, its connections open. */
  freeze() {
    this.#process.kill('SIGSTOP');
  }

  /** Lets it go on. */
  thaw() {
    this.#process.kill('SIGCONT');
  }

  /** Ends it as it is. */
  async end() {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exited;
  }
}

/**
 * In the child: carries out orders, until the parent has gone.
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
 * Does `task` for each number from 0, some at a time.
 *
 * @template T
 * @param {number} count
 * @param {number} atOnce
 * @param {(index: number) => Promise<T>} task
 * @returns {Promise<T[]>} in order
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
