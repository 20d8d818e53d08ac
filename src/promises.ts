import { setMaxListeners } from 'node:events';
import type { Clock } from './clock.js';
import { type Abortable, Ending } from './ending.js';

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
      stops.push(onAbort(signal, () => settle(() => reject(signal.reason))));
    }
    promise.then(
      (value) => settle(() => resolve(value)),
      (reason: unknown) => settle(() => reject(reason)),
    );
  });
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

/** A controller of a signal that any number may listen to, without Node's warning of a leak. */
export function sharedAbortController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** Calls `task` when `signal` aborts, or at once if it has. Returns what takes that back. */
export function onAbort(signal: Abortable, task: () => void): () => void {
  if (signal.aborted) {
    task();
    return ignore;
  }
  if (signal instanceof Ending) return signal.listen(task);
  signal.addEventListener('abort', task, { once: true });
  return () => signal.removeEventListener('abort', task);
}

/** Aborts with the first of `signals` that does, for the same reason, until it is told to follow them no longer. */
export function endingWith(...signals: readonly (Abortable | undefined)[]): {
  ending: Ending;
  forget(): void;
} {
  const ending = new Ending();
  const stops = signals.map((signal) =>
    signal === undefined ? ignore : onAbort(signal, () => ending.abort(signal.reason)),
  );
  return {
    ending,
    forget: () => {
      for (const stop of stops) stop();
    },
  };
}

/** For a promise whose outcome is somebody else's concern. Say whose, beside the call. */
export function ignore(): void {
  return undefined;
}
