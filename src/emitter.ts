import { ListenerError } from './errors.js';
import { EventEmitter } from './packages.cjs';

type Listener = (...args: unknown[]) => unknown;

/**
 * An eventemitter3 whose listeners can't disturb each other or the emitter: one that throws, or returns a promise
 * that rejects, is reported through {@link SafeEmitter.reportListenerError} and the others are called all the same.
 *
 * `on`, `once` and `off` work as they do there; each listener is wrapped, once for each event, so that the wrapper
 * can be found again when it is taken off.
 */
export abstract class SafeEmitter<Events extends Record<keyof Events, (...args: never[]) => void>> {
  /** As soon as anybody listens: there may be very many emitters, which mostly have nobody. */
  #emitter: EventEmitter<Record<string, Listener>> | undefined;
  /** What is being emitted, and comes after that, if anything is. */
  #queue: (() => void)[] | undefined;
  #emitting = false;
  #wrappers: Map<string, WeakMap<Listener, Listener>> | undefined;

  /** Calls `listener` at every `event` from now on. */
  on<E extends keyof Events & string>(event: E, listener: Events[E]): this {
    this.#made.on(event, this.#wrap(event, listener as unknown as Listener));
    return this;
  }

  /** Calls `listener` at the next `event` only. */
  once<E extends keyof Events & string>(event: E, listener: Events[E]): this {
    this.#made.once(event, this.#wrap(event, listener as unknown as Listener));
    return this;
  }

  /** Takes `listener` off `event`. */
  off<E extends keyof Events & string>(event: E, listener: Events[E]): this {
    this.#emitter?.off(event, this.#wrap(event, listener as unknown as Listener));
    return this;
  }

  addListener<E extends keyof Events & string>(event: E, listener: Events[E]): this {
    return this.on(event, listener);
  }

  removeListener<E extends keyof Events & string>(event: E, listener: Events[E]): this {
    return this.off(event, listener);
  }

  removeAllListeners(event?: keyof Events & string): this {
    this.#emitter?.removeAllListeners(event);
    return this;
  }

  listenerCount(event: keyof Events & string): number {
    return this.#emitter?.listenerCount(event) ?? 0;
  }

  /**
   * Calls the listeners of `event`, unless those of an earlier event are being called: then after them, so that what a
   * listener sets off isn't heard by the others before what it heard itself.
   */
  protected emit<E extends keyof Events & string>(event: E, ...args: Parameters<Events[E]>): void {
    this.#queue ??= [];
    const queue = this.#queue;
    queue.push(() => this.#emitter?.emit(event, ...(args as unknown[])));
    if (this.#emitting) return;
    this.#emitting = true;
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) next();
      this.#queue = undefined;
    } finally {
      this.#emitting = false; // Whatever comes of one delivery, there will be others.
    }
  }

  /** A listener failed. Called on the emitter's stack, and must not throw. */
  protected abstract reportListenerError(error: ListenerError): void;

  get #made(): EventEmitter<Record<string, Listener>> {
    this.#emitter ??= new EventEmitter();
    return this.#emitter;
  }

  #wrap(event: string, listener: Listener): Listener {
    this.#wrappers ??= new Map();
    const wrappers = this.#wrappers.get(event) ?? new WeakMap<Listener, Listener>();
    this.#wrappers.set(event, wrappers);
    const known = wrappers.get(listener);
    if (known !== undefined) return known;
    const failed = (cause: unknown) => this.reportListenerError(new ListenerError(event, cause));
    const wrapper = (...args: unknown[]) => {
      try {
        const result = listener(...args);
        if (result instanceof Promise) result.catch(failed);
      } catch (cause) {
        failed(cause);
      }
    };
    wrappers.set(listener, wrapper);
    return wrapper;
  }
}
