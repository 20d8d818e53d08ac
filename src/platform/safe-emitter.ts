import { EventEmitter } from 'eventemitter3';
import { InvalidOptionError, ListenerError } from '../errors.js';

type Listener = (...args: unknown[]) => unknown;

/** Hears what an emitter does without being a listener: each event, and each note. It must not throw. */
export type Tap = (event: string, ...args: readonly unknown[]) => void;

/** The names of an emitter's events, each with whether it is public. */
export type EventNames<Events> = Readonly<Record<keyof Events & string, boolean>>;

/**
 * An eventemitter3 whose listeners can't disturb each other or the emitter: a listener that throws, or returns a promise
 * that rejects, is reported through {@link SafeEmitter.reportListenerError}, and the others are called all the same.
 *
 * `on`, `once` and `off` work as they do there, except that all methods refuse an unknown event and a listener that isn't a
 * function, with an `InvalidOptionError`. Each listener is wrapped once for each event, so that `off` finds the wrapper.
 */
export abstract class SafeEmitter<Events extends Record<keyof Events, (...args: never[]) => void>> {
  /** Made for the first listener: there may be very many emitters, most of them without one. */
  #emitter: EventEmitter<Record<string, Listener>> | undefined;
  /** The event that is being emitted, and those after it, if any. */
  #queue: (() => void)[] | undefined;
  #emitting = false;
  #wrappers: Map<string, WeakMap<Listener, Listener>> | undefined;
  /** `undefined` unless something is measured: then an event costs this one look. */
  #taps: readonly Tap[] | undefined;

  /** @internal A getter, since there may be very many emitters. */
  protected abstract get knownEvents(): EventNames<Events>;

  /** Calls `listener` at every `event` from now on. @throws InvalidOptionError if there is no such event, or it is no function */
  on<E extends keyof Events & string>(event: E, listener: Events[E]): this {
    this.#made.on(event, this.#wrap(event, listener as unknown as Listener));
    return this;
  }

  /** Calls `listener` at the next `event` only. @throws as `on` does */
  once<E extends keyof Events & string>(event: E, listener: Events[E]): this {
    this.#made.once(event, this.#wrap(event, listener as unknown as Listener));
    return this;
  }

  /** Takes `listener` off `event`. @throws as `on` does */
  off<E extends keyof Events & string>(event: E, listener: Events[E]): this {
    const wrapper = this.#wrap(event, listener as unknown as Listener);
    this.#emitter?.off(event, wrapper);
    return this;
  }

  /** The same as `on`. */
  addListener<E extends keyof Events & string>(event: E, listener: Events[E]): this {
    return this.on(event, listener);
  }

  /** The same as `off`. */
  removeListener<E extends keyof Events & string>(event: E, listener: Events[E]): this {
    return this.off(event, listener);
  }

  /** @throws InvalidOptionError if there is no such event */
  removeAllListeners(event?: keyof Events & string): this {
    if (event !== undefined) this.#checkEvent(event);
    this.#emitter?.removeAllListeners(event);
    return this;
  }

  /** @throws InvalidOptionError if there is no such event */
  listenerCount(event: keyof Events & string): number {
    this.#checkEvent(event);
    return this.#emitter?.listenerCount(event) ?? 0;
  }

  /**
   * @internal Calls `tap` with each event, before its listeners, and with each {@link note}, until the function that this returns is
   * called. A tap is no listener: an error that it hears is still one that no listener has heard, and is logged.
   */
  tap(tap: Tap): () => void {
    this.#taps = [...(this.#taps ?? []), tap];
    return () => {
      const left = this.#taps?.filter((each) => each !== tap);
      this.#taps = left?.length === 0 ? undefined : left;
    };
  }

  /** @internal Whether anything that happens is to be noted. */
  get isTapped(): boolean {
    return this.#taps !== undefined;
  }

  /** @internal For taps alone: what is no event of the emitter's. */
  protected note(event: string, ...args: readonly unknown[]): void {
    if (this.#taps === undefined) return;
    for (const tap of this.#taps) {
      try {
        tap(event, ...args);
      } catch {
        // What is measured must not disturb what is done, and there is no place to report it to that isn't measured.
      }
    }
  }

  /** Calls the listeners of `event`, after those being called now: all get events in one order, also if one causes the next. */
  protected emit<E extends keyof Events & string>(event: E, ...args: Parameters<Events[E]>): void {
    if (this.#taps !== undefined) this.note(event, ...(args as unknown[]));
    this.#queue ??= [];
    const queue = this.#queue;
    queue.push(() => this.#emitter?.emit(event, ...(args as unknown[])));
    if (this.#emitting) return;
    this.#emitting = true;
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) next();
      this.#queue = undefined;
    } finally {
      this.#emitting = false; // Also after a failure: there will be other events.
    }
  }

  /** A listener failed. Called on the emitter's stack, and must not throw. */
  protected abstract reportListenerError(error: ListenerError): void;

  get #made(): EventEmitter<Record<string, Listener>> {
    this.#emitter ??= new EventEmitter();
    return this.#emitter;
  }

  #checkEvent(event: string): void {
    if (Object.hasOwn(this.knownEvents, event)) return;
    const known = Object.entries(this.knownEvents).flatMap(([name, isPublic]) =>
      isPublic ? `'${name}'` : [],
    );
    throw new InvalidOptionError('event', event, `one of ${known.join(', ')}`);
  }

  #wrap(event: string, listener: Listener): Listener {
    this.#checkEvent(event);
    if (typeof listener !== 'function')
      throw new InvalidOptionError(`the listener of '${event}'`, listener, 'a function');
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
