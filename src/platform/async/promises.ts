import type { Clock } from '../time/clock.js';
import { type Abortable, LazyAbortController, onAbort } from './lazy-abort.js';

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
export function abortable<T>(promise: PromiseLike<T>, ...signals: (Abortable | undefined)[]): Promise<T> {
  const over = signals.find((signal) => signal?.aborted);
  if (over !== undefined) {
    promise.then(ignore, ignore);
    return Promise.reject(over.reason);
  }
  return new Promise<T>((resolve, reject) => {
    const forget = onEachAbort(signals, (reason) => {
      forget();
      reject(reason);
    });
    promise.then(
      (value) => {
        forget();
        resolve(value);
      },
      (reason: unknown) => {
        forget();
        reject(reason);
      },
    );
  });
}

/** Calls `task` for each of these that aborts, or has. Returns what takes that back. */
function onEachAbort(
  signals: readonly (Abortable | undefined)[],
  task: (reason: unknown) => void,
): () => void {
  const given = signals.filter((signal) => signal !== undefined);
  const forgets = given.map((signal) => onAbort(signal, () => task(signal.reason)));
  if (forgets.length === 1) return forgets[0] as () => void;
  return () => {
    for (const forget of forgets) forget();
  };
}

/** Resolves when `promise` has settled, either way, or after `ms`, whichever comes first. Never rejects. */
export function settledWithin(clock: Clock, promise: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => whenSettled(clock, promise, ms, resolve));
}

/** Calls `task` when `promise` has settled, either way, and after `ms` if it hasn't by then: once or twice. */
export function whenSettled(clock: Clock, promise: Promise<unknown>, ms: number, task: () => void): void {
  const timer = clock.after(ms, task);
  const settled = () => {
    timer.clear();
    task();
  };
  promise.then(settled, settled);
}

/** A controller that aborts with the first of `signals` that does, for the same reason, until `unsubscribe` is called. */
export function anyAbort(...signals: readonly (Abortable | undefined)[]): {
  controller: LazyAbortController;
  unsubscribe(): void;
} {
  const controller = new LazyAbortController();
  return { controller, unsubscribe: onEachAbort(signals, (reason) => controller.abort(reason)) };
}

const DONE = Promise.resolve();

/**
 * Calls `task` after what runs now, as `queueMicrotask` does, which takes several times as long: it makes a resource for
 * Node's async hooks. The task is ours: it must not throw.
 */
export function microtask(task: () => void): void {
  void DONE.then(task);
}

/** For a promise whose outcome is somebody else's concern. Say whose, beside the call. */
export function ignore(): void {
  return undefined;
}
