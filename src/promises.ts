import { setMaxListeners } from 'node:events';
import { type Clock, sleep } from './clock.js';

/** A promise and the two functions that settle it. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T | PromiseLike<T>): void;
  reject(reason: unknown): void;
}

export function deferred<T = void>(): Deferred<T> {
  let resolve!: Deferred<T>['resolve'];
  let reject!: Deferred<T>['reject'];
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

/**
 * Settles as `promise` does, or rejects with the reason of the first signal that aborts before. The promise itself
 * goes on: whoever abandons work that leaves something behind has to look after it.
 */
export function abortable<T>(promise: PromiseLike<T>, ...signals: (AbortSignal | undefined)[]): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stops: (() => void)[] = [];
    const settle = (how: () => void) => {
      for (const stop of stops) stop();
      how();
    };
    for (const signal of signals) {
      if (signal?.aborted) {
        settle(() => reject(signal.reason));
        void Promise.resolve(promise).catch(ignore);
        return;
      }
      if (signal === undefined) continue;
      const onAbort = () => settle(() => reject(signal.reason));
      stops.push(listen(signal, onAbort));
    }
    promise.then(
      (value) => settle(() => resolve(value)),
      (reason: unknown) => settle(() => reject(reason)),
    );
  });
}

/** Resolves when `promise` has settled, either way, or after `ms`, whichever comes first. Never rejects. */
export async function settledWithin(clock: Clock, promise: Promise<unknown>, ms: number): Promise<void> {
  const waiting = new AbortController();
  await Promise.race([
    promise.then(ignore, ignore),
    sleep(clock, ms, waiting.signal).catch(ignore), // Rejects only because the other one won.
  ]);
  waiting.abort();
}

/** Who waits for signals that many may wait for. */
const tasksOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * A controller of a signal that any number may listen to, without Node's warning of a leak. Those that {@link onAbort} and
 * {@link abortable} add share one listener: Node looks through all of a signal's listeners whenever there is one more.
 */
export function sharedAbortController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  tasksOf.set(controller.signal, new Set());
  return controller;
}

/** Has `task` called when `signal`, which hasn't yet, aborts. Returns what takes that back. */
function listen(signal: AbortSignal, task: () => void): () => void {
  const tasks = tasksOf.get(signal);
  if (tasks === undefined) {
    signal.addEventListener('abort', task, { once: true });
    return () => signal.removeEventListener('abort', task);
  }
  if (tasks.size === 0) signal.addEventListener('abort', callAll, { once: true });
  tasks.add(task);
  return () => {
    if (tasks.delete(task) && tasks.size === 0) signal.removeEventListener('abort', callAll);
  };
}

function callAll({ target }: Event): void {
  for (const task of tasksOf.get(target as AbortSignal) ?? []) {
    try {
      task();
    } catch (error) {
      // As of a listener of its own: uncaught, and the others are called all the same.
      process.nextTick(() => {
        throw error;
      });
    }
  }
}

/** Calls `task` when `signal` aborts, or at once if it has. Returns what takes that back. */
export function onAbort(signal: AbortSignal, task: () => void): () => void {
  if (signal.aborted) {
    task();
    return ignore;
  }
  return listen(signal, task);
}

/** For a promise whose outcome is somebody else's concern. Say whose, beside the call. */
export function ignore(): void {
  return undefined;
}
