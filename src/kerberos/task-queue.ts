import { monotonicNs } from '../platform/time/timers.js';

const LONGEST_WAIT_MS = 3000;
const NS_PER_MS = 1_000_000n;

/**
 * Runs one task after the other. A task whose turn came late isn't run: its caller has probably given up, and can't withdraw it. So a task
 * that takes long doesn't leave a queue of useless ones.
 */
export class TaskQueue {
  readonly #nowNs: () => bigint;
  #last: Promise<unknown> = Promise.resolve();

  constructor(nowNs: () => bigint = monotonicNs) {
    this.#nowNs = nowNs;
  }

  /** @throws Error if the tasks before took 3 s or longer; otherwise as the task does */
  run<T>(task: () => Promise<T>): Promise<T> {
    const since = this.#nowNs();
    const result = this.#last.then(() => {
      const waitedMs = Number((this.#nowNs() - since) / NS_PER_MS);
      if (waitedMs < LONGEST_WAIT_MS) return task();
      throw new Error(
        `Kerberos kept other connections of this process waiting for ${waitedMs} ms: is the KDC there?`,
      );
    });
    this.#last = result.catch(() => undefined);
    return result;
  }
}
