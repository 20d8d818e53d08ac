import type { Worker } from 'node:worker_threads';
import { WatchdogFailedError } from '../../errors.js';
import type { OwnNode } from '../../lease/own-node.js';
import { queueMicrotask } from '../../platform/time/timers.js';
import { MARGIN_MS, SharedDeadline } from './shared-deadline.js';

/**
 * A thread that ends the process with SIGKILL when the main thread has been blocked past the end of a term's lease.
 * Otherwise the blocked work would go on as a leader that has been replaced.
 *
 * The thread reads the clocks of the machine, and can't use the injected clock, which lives in the blocked thread.
 */
export class Watchdog {
  readonly #deadline = new SharedDeadline();
  readonly #onFailure: (error: WatchdogFailedError) => void;
  #state: 'running' | 'stopped' | 'failed' = 'running';

  /** @param onFailure - called once if the thread can't be started, or has ended. From then on it guards no term */
  constructor(onFailure: (error: WatchdogFailedError) => void) {
    this.#onFailure = onFailure;
    try {
      this.#start();
    } catch (cause) {
      // Node's permission model forbids threads, or threads share no clock. Listeners don't run inside of `start()`.
      this.#state = 'failed';
      queueMicrotask(() => this.#onFailure(new WatchdogFailedError(cause)));
    }
  }

  /** Guards a term, whose node is `own`, until `signal` aborts. */
  guard(own: OwnNode, signal: AbortSignal): void {
    const renew = () => {
      if (this.#state !== 'running') return;
      this.#deadline.setIn(() => own.remainingMs() + MARGIN_MS);
    };
    if (signal.aborted) return;
    const unsubscribe = own.whenConfirmed(renew);
    const holder = { leaseShortened: renew };
    own.hold(holder);
    const clear = () => {
      unsubscribe();
      own.letGo(holder);
      this.#deadline.clear();
    };
    signal.addEventListener('abort', clear, { once: true });
    // While this thread stands still, another one may extend the lease. The watchdog's thread sees that.
    if (own.isRepeated && this.#state === 'running') own.copyLeaseTo(this.#deadline.lease);
    renew();
  }

  stop(): void {
    if (this.#state === 'running') this.#state = 'stopped';
    this.#deadline.stop();
  }

  #start(): void {
    this.#deadline.setIn(() => Number.POSITIVE_INFINITY); // Throws where threads share no clock.
    this.#deadline.clear();
    // Loaded only when a watchdog is used, because loading takes time.
    const threads = process.getBuiltinModule('node:worker_threads');
    const worker: Worker = new threads.Worker(new URL('./watchdog-thread.js', import.meta.url), {
      workerData: this.#deadline.memory,
      // The application's --import and --require, also those of NODE_OPTIONS, would run in the thread, and could end it.
      execArgv: [],
      env: {},
    });
    worker.on('error', (cause) => this.#fail(cause));
    worker.on('exit', (code) => this.#fail(new Error(`the thread exited with code ${code}`)));
    worker.unref(); // The watchdog doesn't keep the process alive.
  }

  #fail(cause: unknown): void {
    if (this.#state !== 'running') return;
    this.#state = 'failed';
    this.#onFailure(new WatchdogFailedError(cause));
  }
}
