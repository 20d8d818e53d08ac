import { setMaxListeners } from 'node:events';
import { forEachOf, type SmallSet, sizeOf, withMember, withoutMember } from '../collections/small-set.js';

/** Who is told of an end: a function, or an object that needs none, where there are very many, as the platform has it. */
export type AbortListener = (() => void) | { handleEvent(): void };

/**
 * Something that ends once, for one reason: an AbortController that makes its signal only when somebody asks for it. Most
 * endings are nobody's concern outside, and a signal of the platform's with one listener takes some 20 µs to make and to
 * abort: half a dozen of them would cost more than all the rest of taking a free lock.
 *
 * Of what a signal can do, it does what ours need: {@link Abortable} is either.
 *
 * Listeners are called in the order in which they came, before those of the signal. They are ours: they must not throw.
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

  /** For callers: any number may listen to it, without Node's warning of a leak. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      setMaxListeners(0, this.#controller.signal);
      if (this.#aborted) this.#controller.abort(this.reason);
      // The first listener of the signal: so whoever is told sees that the signal has aborted too.
      else this.#controller.signal.addEventListener('abort', () => this.#tell());
    }
    return this.#controller.signal;
  }

  /** How many listen, but for those of the signal: for whoever looks for what was left behind. */
  get listenerCount(): number {
    return sizeOf(this.#listeners);
  }

  /** The first reason counts. */
  abort(reason: Reason): void {
    this.abortFor(() => reason);
  }

  /** As {@link abort}, with a reason that is made when somebody asks for it: an error costs its stack's writing down. */
  abortFor(makeReason: () => Reason): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#makeReason = makeReason;
    if (this.#controller === undefined) this.#tell();
    else this.#controller.abort(this.reason);
  }

  #tell(): void {
    // Anybody who has the signal can make up an event.
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

  /** Tells `listener` when it aborts, once; never if it has. */
  addEventListener(_type: 'abort', listener: AbortListener, _options?: { readonly once: true }): void {
    if (!this.#aborted) this.#listeners = withMember(this.#listeners, listener);
  }

  removeEventListener(_type: 'abort', listener: AbortListener): void {
    this.#listeners = withoutMember(this.#listeners, listener);
  }
}

/** What a wait may be given up by. */
export type Abortable = AbortSignal | LazyAbortController;

/** Calls `task` when `signal` aborts, or at once if it has. Returns what takes that back. */
export function onAbort(signal: Abortable, task: () => void): () => void {
  if (signal.aborted) {
    task();
    return () => undefined;
  }
  signal.addEventListener('abort', task, { once: true });
  return () => signal.removeEventListener('abort', task);
}
