import { setMaxListeners } from 'node:events';
import {
  forEachOf,
  type SmallSet,
  sizeOf,
  withMember,
  withoutMember,
} from '../collections/lists-and-sets.js';

/**
 * A function, or an object where there are very many listeners and a function for each would cost memory. `EventTarget` accepts both, too.
 */
export type AbortListener = (() => void) | { handleEvent(): void };

/**
 * An AbortController that makes its signal only on demand. Most controllers never have to. It takes listeners itself, too, as an
 * {@link Abortable}. They are called in the order in which they were added, before the listeners of the signal. They belong to
 * Conclave and must not throw.
 *
 * This saves some 20 µs for each signal with a listener. Signals and their errors were 16 % of the processor time of taking a free lock.
 */
export class LazyAbortController<Reason = unknown> {
  #listeners: SmallSet<AbortListener>;
  #controller: AbortController | undefined;
  #aborted = false;
  #reason: Reason | undefined;
  #makeReason: (() => Reason) | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): Reason | undefined {
    if (this.#makeReason !== undefined) {
      this.#reason = this.#makeReason();
      this.#makeReason = undefined;
    }
    return this.#reason;
  }

  /** A signal for callers. It takes any number of listeners without Node's warning of a leak. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      setMaxListeners(0, this.#controller.signal);
      if (this.#aborted) this.#controller.abort(this.reason);
      // This is the first listener of the signal, so that the controller's own listeners find the signal aborted as well.
      else this.#controller.signal.addEventListener('abort', () => this.#notify());
    }
    return this.#controller.signal;
  }

  /** The number of listeners, without those of the signal. For tests that look for listeners left behind. */
  get listenerCount(): number {
    return sizeOf(this.#listeners);
  }

  /** Aborts. The first reason counts. */
  abort(reason: Reason): void {
    this.abortFor(() => reason);
  }

  /** As {@link abort}, with a reason that is made when it is first read, because an error's stack takes time. */
  abortFor(makeReason: () => Reason): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#makeReason = makeReason;
    if (this.#controller === undefined) this.#notify();
    else this.#controller.abort(this.reason);
  }

  #notify(): void {
    // Any code that has the signal can dispatch an event on it.
    if (!this.#aborted) return;
    forEachOf(this.#listeners, (listener) => {
      if (typeof listener === 'function') listener();
      else listener.handleEvent();
    });
    this.#listeners = undefined;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.reason;
  }

  /** Calls `listener` once, at the abort; never if the controller has aborted before. */
  addEventListener(_type: 'abort', listener: AbortListener, _options?: { readonly once: true }): void {
    if (!this.#aborted) this.#listeners = withMember(this.#listeners, listener);
  }

  removeEventListener(_type: 'abort', listener: AbortListener): void {
    this.#listeners = withoutMember(this.#listeners, listener);
  }
}

export type Abortable = AbortSignal | LazyAbortController;

/** Calls `task` when `signal` aborts, or at once if it has. Returns a function that unsubscribes. */
export function onAbort(signal: Abortable, task: () => void): () => void {
  if (signal.aborted) {
    task();
    return () => undefined;
  }
  addAbortListener(signal, task);
  return () => removeAbortListener(signal, task);
}

/**
 * The listeners of each AbortSignal, behind one listener on the signal. Node warns of a leak at the eleventh listener of a caller's
 * signal, but one signal may end any number of waits.
 */
const followers = new WeakMap<AbortSignal, SignalFollower>();

class SignalFollower extends LazyAbortController {
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    super();
    this.#signal = signal;
    signal.addEventListener('abort', this);
  }

  handleEvent(): void {
    if (!this.#signal.aborted) return; // As in `#notify`.
    this.stop();
    this.abort(this.#signal.reason);
  }

  stop(): void {
    followers.delete(this.#signal);
    this.#signal.removeEventListener('abort', this);
  }
}

/** Calls `listener` once, when the signal aborts; never if it has aborted before. */
export function addAbortListener(signal: Abortable, listener: AbortListener): void {
  if (signal instanceof LazyAbortController) return signal.addEventListener('abort', listener);
  if (signal.aborted) return;
  const follower = followers.get(signal) ?? new SignalFollower(signal);
  followers.set(signal, follower);
  follower.addEventListener('abort', listener);
}

export function removeAbortListener(signal: Abortable, listener: AbortListener): void {
  if (signal instanceof LazyAbortController) return signal.removeEventListener('abort', listener);
  const follower = followers.get(signal);
  follower?.removeEventListener('abort', listener);
  if (follower?.listenerCount !== 0) return;
  follower.stop();
}
