import type { Worker } from 'node:worker_threads';
import { WatchdogFailedError } from '../../errors.js';
import type { EphemeralNode } from '../../lease/ephemeral-node.js';
import { monotonicNs, queueMicrotask } from '../../platform/time/timers.js';
import { IDLE, STOP } from './deadline.js';

// The main thread itself ends a term when the lease is over. If it hasn't done that after this margin, it is blocked.
const MARGIN_MS = 50;

/**
 * A thread that ends the process with SIGKILL when the main thread has been blocked past the end of a term's lease.
 * Otherwise the blocked work would go on as a leader that has been replaced.
 *
 * The thread reads the monotonic clock, which doesn't count the time for which the machine was suspended. After a
 * suspension the main thread runs as soon as the watchdog does, and reads its own clock. The thread can't use the
 * injected clock, which lives in the blocked thread.
 */
export class Watchdog {
  readonly #deadline = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
  readonly #onFailure: (error: WatchdogFailedError) => void;
  #state: 'running' | 'stopped' | 'failed' = 'running';

  /** @param onFailure - called once if the thread can't be started, or has ended. From then on it guards no term */
  constructor(onFailure: (error: WatchdogFailedError) => void) {
    this.#onFailure = onFailure;
    try {
      this.#start();
    } catch (cause) {
      queueMicrotask(() => this.#fail(cause)); // Node's permission model forbids threads. Listeners don't run inside of `start()`.
    }
  }

  /** Guards a term, whose node is `own`, until `signal` aborts. */
  guard(own: EphemeralNode, signal: AbortSignal): void {
    const renew = () => this.#set(signal.aborted ? IDLE : inMs(() => own.remainingMs() + MARGIN_MS));
    own.whenConfirmed(renew);
    signal.addEventListener('abort', () => this.#set(IDLE), { once: true });
    renew();
  }

  stop(): void {
    if (this.#state === 'running') this.#state = 'stopped';
    this.#set(STOP);
  }

  #start(): void {
    // Loaded only when a watchdog is used, because loading takes time.
    const threads = process.getBuiltinModule('node:worker_threads');
    const worker: Worker = new threads.Worker(new URL('./thread.js', import.meta.url), {
      workerData: this.#deadline,
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

  #set(deadline: bigint): void {
    Atomics.store(this.#deadline, 0, deadline);
    Atomics.notify(this.#deadline, 0);
  }
}

/**
 * The instant `ms()` milliseconds from now, in nanoseconds of the monotonic clock, which is the same in all threads of a
 * process. `ms` is called after the clock was read, so that a pause in between makes the instant earlier and never later.
 */
function inMs(ms: () => number): bigint {
  const now = monotonicNs();
  return now + BigInt(Math.ceil(ms() * 1e6));
}
