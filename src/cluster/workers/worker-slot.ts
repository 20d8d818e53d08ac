import type { ChildProcess } from 'node:child_process';
import { describe, WorkerFailedError } from '../../errors.js';
import { deferred } from '../../platform/async/promises.js';
import type { Environment } from '../../platform/injected-environment.js';
import { backoffMs, type RetryPolicy } from '../../platform/retry/backoff.js';
import type { Timer } from '../../platform/time/clock.js';

/**
 * The states of a slot.
 *
 * - `idle`: it has no worker. The timer starts the next one. Without a timer none was started yet, or its workers have failed too often.
 * - `running`: its worker runs; `again` says whether another one follows if it ends by itself.
 * - `ending`: its worker was asked to end; `again` says whether another one follows.
 * - `empty`: there is no worker, and none follows. Final.
 */
type SlotState =
  | { readonly name: 'idle'; readonly timer?: Timer }
  | {
      readonly name: 'running';
      readonly child: ChildProcess;
      readonly sinceMs: number;
      readonly again: boolean;
    }
  | { readonly name: 'ending'; readonly child: ChildProcess; readonly again: boolean; readonly killer: Timer }
  | { readonly name: 'empty' };

/** The end of a worker. */
export interface WorkerExit {
  /** The worker's number, from 0. */
  readonly slot: number;
  /** The process that has ended; `undefined` if it never ran. */
  readonly pid: number | undefined;
  /** Its exit code, or `null` if a signal ended it. */
  readonly code: number | null;
  /** The signal that ended it, or `null`. */
  readonly signal: NodeJS.Signals | null;
  /** Whether it was asked to end. */
  readonly expected: boolean;
}

export interface SlotPort {
  readonly environment: Environment;
  readonly restart: RetryPolicy;
  readonly stopSignal: NodeJS.Signals;
  readonly stopTimeoutMs: number;
  fork(slot: number): ChildProcess; // Starts a worker. May throw.
  onSpawned(slot: number, child: ChildProcess): void;
  onExited(exit: WorkerExit): void;
  onRestarting(slot: number, attempt: number, delayMs: number): void;
  onError(error: Error): void;
}

/** Starts one worker, and another one when the first has ended. */
export class WorkerSlot {
  readonly number: number;
  readonly #port: SlotPort;
  #state: SlotState = { name: 'idle' };
  #gone = deferred(); // Resolves when the worker that was asked to end has ended.
  #failures = 0; // How often in a row a worker has ended before it had run for long.

  constructor(number: number, port: SlotPort) {
    this.number = number;
    this.#port = port;
  }

  /** Its worker, while there is one, also when it was asked to end. */
  get child(): ChildProcess | undefined {
    return 'child' in this.#state ? this.#state.child : undefined;
  }

  /** Starts a worker, unless it has one, or should no longer have one. */
  start(): void {
    if (this.#state.name !== 'idle') return;
    const sinceMs = this.#port.environment.clock.now();
    let child: ChildProcess;
    try {
      child = this.#port.fork(this.number);
    } catch (error) {
      return this.#failed(error, () =>
        this.#port.onError(error instanceof Error ? error : new Error(describe(error))),
      );
    }
    this.#become({ name: 'running', child, sinceMs, again: true });
    child.once('exit', (code, signal) => this.#onExit(child, code, signal));
    child.on('error', (error) => {
      this.#port.onError(error);
      if (child.pid === undefined) this.#onExit(child, null, null); // It never ran, and there is no exit.
    });
    this.#port.onSpawned(this.number, child);
  }

  /**
   * Ends its worker: asks it to end, and kills it after `stopTimeoutMs`. Resolves when it has ended.
   *
   * @param again - whether another one is started right after
   */
  async end(again: boolean): Promise<void> {
    const state = this.#state;
    switch (state.name) {
      case 'idle':
        if (!again) return this.closeDown();
        state.timer?.clear();
        this.#failures = 0;
        this.#become({ name: 'idle' });
        return this.start();
      case 'running':
        this.#gone = deferred();
        this.#become({ name: 'ending', child: state.child, again, killer: this.#ask(state.child) });
        return await this.#gone.promise;
      case 'ending':
        if (!again) this.#become({ ...state, again });
        return await this.#gone.promise;
      case 'empty':
        return;
    }
  }

  /** No worker follows the one that runs, if one does. */
  closeDown(): void {
    const state = this.#state;
    if (state.name === 'running' || state.name === 'ending') return this.#become({ ...state, again: false });
    if (state.name === 'idle') state.timer?.clear();
    this.#become({ name: 'empty' });
  }

  /** Asks the worker to end. Gives the timer that kills it if it doesn't. */
  #ask(child: ChildProcess): Timer {
    const { environment, stopSignal, stopTimeoutMs } = this.#port;
    child.kill(stopSignal);
    return environment.clock.after(stopTimeoutMs, () => {
      const late = `worker ${this.number} (pid ${child.pid}) had not ended ${stopTimeoutMs} ms after ${stopSignal}`;
      this.#port.onError(new WorkerFailedError(this.number, `${late}: it was killed`));
      child.kill('SIGKILL');
    });
  }

  /** Changes the state before it reports the end: a listener may call for the end of all workers. */
  #onExit(child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): void {
    const state = this.#state;
    if (!('child' in state) || state.child !== child) return; // Its end was known.
    const expected = state.name === 'ending';
    const report = () => this.#port.onExited({ slot: this.number, pid: child.pid, code, signal, expected });
    if (state.name === 'running' && state.again) {
      const lastedMs = this.#port.environment.clock.now() - state.sinceMs;
      if (lastedMs > this.#port.restart.maxTimeout) this.#failures = 0;
      return this.#failed(signal === null ? `it ended with code ${code}` : `${signal} ended it`, report);
    }
    if (state.name === 'ending') state.killer.clear();
    this.#failures = 0;
    this.#become({ name: state.again ? 'idle' : 'empty' });
    this.#gone.resolve(); // Before the next start: a listener of that may end the new worker.
    report();
    if (this.#state.name === 'idle') this.start();
  }

  /** The worker has ended by itself, or couldn't be started. @param report - reports that, when the state has changed */
  #failed(cause: unknown, report: () => void): void {
    const { environment, restart } = this.#port;
    this.#failures++;
    if (this.#failures > restart.retries) {
      this.#become({ name: 'idle' });
      report();
      const message = `worker ${this.number} has failed ${this.#failures} times in a row, and is not restarted`;
      this.#port.onError(new WorkerFailedError(this.number, `${message}: ${describe(cause)}`, { cause }));
      return;
    }
    const delayMs = backoffMs(this.#failures, restart, environment.random());
    const timer = environment.clock.after(delayMs, () => this.start());
    const pausing = { name: 'idle', timer } as const;
    this.#become(pausing);
    report();
    if (this.#state === pausing) this.#port.onRestarting(this.number, this.#failures, delayMs);
  }

  /** The only place that writes the state. */
  #become(next: SlotState): void {
    this.#state = next;
  }
}
