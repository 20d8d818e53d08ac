import { EventEmitter } from 'eventemitter3';
import { InvalidOptionError, ListenerError } from '../errors.js';

type Listener = (...args: unknown[]) => unknown;

/** Gets each event and each note of an emitter without being a listener. It must not throw. */
export type Tap = (event: string, ...args: readonly unknown[]) => void;

/** The names of an emitter's events, and whether each is public. */
export type EventNames<Events> = Readonly<Record<keyof Events & string, boolean>>;

/**
 * An eventemitter3 whose listeners can't disturb each other or the emitter. If a listener throws, or returns a promise that
 * rejects, the emitter reports that through {@link SafeEmitter.reportListenerError} and still calls the other listeners.
 *
 * `on`, `once` and `off` work as in eventemitter3. But all methods throw an `InvalidOptionError` for an unknown event and for a
 * listener that isn't a function. Each listener is wrapped once for each event, so that `off` finds the wrapper.
 */
export abstract class SafeEmitter<Events extends Record<keyof Events, (...args: never[]) => void>> {
  /** Created for the first listener: there may be very many emitters, and most have no listener. */
  #emitter: EventEmitter<Record<string, Listener>> | undefined;
  /** The event that is being emitted, and the events after it, if there are any. */
  #queue: (() => void)[] | undefined;
  #emitting = false;
  #wrappers: Map<string, WeakMap<Listener, Listener>> | undefined;
  /** `undefined` unless something is measured. An event that isn't measured costs only this check. */
  #taps: readonly Tap[] | undefined;

  /** @internal A getter, since there may be very many emitters. */
  protected abstract get knownEvents(): EventNames<Events>;

  /** Calls `listener` at every `event` from now on. @throws InvalidOptionError if there is no such event, or `listener` isn't a function */
  on<E extends keyof Events & string>(event: E, listener: Events[E]): this {
    this.#made.on(event, this.#wrap(event, listener as unknown as Listener));
    return this;
  }

  /** Calls `listener` only at the next `event`. @throws InvalidOptionError if there is no such event, or `listener` isn't a function */
  once<E extends keyof Events & string>(event: E, listener: Events[E]): this {
    this.#made.once(event, this.#wrap(event, listener as unknown as Listener));
    return this;
  }

  /** Removes `listener` from `event`. @throws InvalidOptionError if there is no such event, or `listener` isn't a function */
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
   * @internal Calls `tap` with each event, before its listeners, and with each {@link note}. The returned function ends that. A
   *   tap doesn't count as a listener: an error that only a tap gets is still logged.
   */
  tap(tap: Tap): () => void {
    this.#taps = [...(this.#taps ?? []), tap];
    return () => {
      const left = this.#taps?.filter((each) => each !== tap);
      this.#taps = left?.length === 0 ? undefined : left;
    };
  }

  /** @internal Whether there are taps, so that notes are of use. */
  get isTapped(): boolean {
    return this.#taps !== undefined;
  }

  /** @internal Tells the taps, and only them, about something that isn't an event of the emitter. */
  protected note(event: string, ...args: readonly unknown[]): void {
    if (this.#taps === undefined) return;
    for (const tap of this.#taps) {
      try {
        tap(event, ...args);
      } catch {
        // A measurement must not disturb the work, and every place to which its failure could be reported is itself measured.
      }
    }
  }

  /**
   * Calls the listeners of `event`, after the listeners that are being called now. So all listeners get events in the same order,
   * even if one event causes the next.
   */
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
      this.#emitting = false; // Also after a failure, because other events will follow.
    }
  }

  /** Called when a listener has failed, on the emitter's stack. Must not throw. */
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
