import type { Clock } from './clock.js';
import { type Abortable, Ending, onAbort } from './ending.js';

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
  return new Promise((resolve) => {
    const timer = clock.after(ms, resolve);
    const settle = () => {
      timer.clear();
      resolve();
    };
    promise.then(settle, settle);
  });
}

/** Aborts with the first of `signals` that does, for the same reason, until it is told to follow them no longer. */
export function endingWith(...signals: readonly (Abortable | undefined)[]): {
  ending: Ending;
  forget(): void;
} {
  const ending = new Ending();
  return { ending, forget: onEachAbort(signals, (reason) => ending.abort(reason)) };
}

/** For a promise whose outcome is somebody else's concern. Say whose, beside the call. */
export function ignore(): void {
  return undefined;
}
