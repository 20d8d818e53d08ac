import type { Clock } from '../time/clock.js';
import { type Abortable, LazyAbortController, onAbort } from './lazy-abort-controller.js';

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
 * Settles as `promise` does, or rejects with the reason of the first signal that aborts before. The work behind the promise goes
 * on. If it can leave something behind, the caller has to clean up.
 */
export function abortable<T>(promise: PromiseLike<T>, ...signals: (Abortable | undefined)[]): Promise<T> {
  const aborted = signals.find((signal) => signal?.aborted);
  if (aborted !== undefined) {
    promise.then(ignore, ignore);
    return Promise.reject(aborted.reason);
  }
  return new Promise<T>((resolve, reject) => {
    const unsubscribe = onEachAbort(signals, (reason) => {
      unsubscribe();
      reject(reason);
    });
    promise.then(
      (value) => {
        unsubscribe();
        resolve(value);
      },
      (reason: unknown) => {
        unsubscribe();
        reject(reason);
      },
    );
  });
}

/** As {@link abortable}, for an outcome that matters: after the abort it waits up to `ms` more milliseconds for the promise. */
export async function abortableLate<T>(
  clock: Clock,
  promise: Promise<T>,
  ms: number,
  signal: Abortable,
): Promise<T> {
  const late = new LazyAbortController();
  const outcome = abortable(promise, late);
  const unsubscribe = onAbort(signal, () => whenSettled(clock, promise, ms, () => late.abort(signal.reason)));
  try {
    return await outcome;
  } finally {
    unsubscribe();
  }
}

/** Calls `task` for each of `signals` that aborts or has aborted. Returns a function that unsubscribes. */
function onEachAbort(
  signals: readonly (Abortable | undefined)[],
  task: (reason: unknown) => void,
): () => void {
  const given = signals.filter((signal) => signal !== undefined);
  const unsubscribes = given.map((signal) => onAbort(signal, () => task(signal.reason)));
  if (unsubscribes.length === 1) return unsubscribes[0] as () => void;
  return () => {
    for (const unsubscribe of unsubscribes) unsubscribe();
  };
}

/** Resolves when `promise` has resolved or rejected, or after `ms` milliseconds, whichever comes first. Never rejects. */
export function settledWithin(clock: Clock, promise: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => whenSettled(clock, promise, ms, resolve));
}

/**
 * Calls `task` when `promise` has resolved or rejected, and also after `ms` milliseconds if it hasn't settled by then. So it
 * calls `task` once or twice.
 */
export function whenSettled(clock: Clock, promise: Promise<unknown>, ms: number, task: () => void): void {
  const timer = clock.after(ms, task);
  const settled = () => {
    timer.clear();
    task();
  };
  promise.then(settled, settled);
}

/** A controller that aborts with the first of `signals` that aborts, for the same reason, until `unsubscribe` is called. */
export function anyAbort(...signals: readonly (Abortable | undefined)[]): {
  controller: LazyAbortController;
  unsubscribe(): void;
} {
  const controller = new LazyAbortController();
  return { controller, unsubscribe: onEachAbort(signals, (reason) => controller.abort(reason)) };
}

const RESOLVED = Promise.resolve();

/**
 * Calls `task` after the code that runs now, as `queueMicrotask` does. The task belongs to Conclave and must not throw.
 * `queueMicrotask` would take several times as long, since it makes a resource for Node's async hooks.
 */
export function microtask(task: () => void): void {
  void RESOLVED.then(task);
}

/** Calls that haven't ended, by what they ask for. */
interface Calls<K, T> {
  get(key: K): Promise<T> | undefined;
  set(key: K, call: Promise<T>): unknown;
  delete(key: K): unknown;
}

/** Calls `task`, not on the caller's stack. While a call for `key` hasn't ended, no second one begins, and the result is that one's. */
export function callOnce<K, T>(calls: Calls<K, T>, key: K, task: () => T | PromiseLike<T>): Promise<T> {
  const begun = calls.get(key);
  if (begun !== undefined) return begun;
  const call = Promise.resolve().then(task);
  const ended = () => void calls.delete(key);
  calls.set(key, call);
  call.then(ended, ended);
  return call;
}

/** For a promise whose outcome is handled elsewhere. A comment at the call says where. */
export function ignore(): void {
  return undefined;
}
