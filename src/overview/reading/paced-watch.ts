import { NoNodeError } from '../../errors.js';
import { microtask } from '../../platform/async/promises.js';
import type { Timer } from '../../platform/time/clock.js';
import type { Reply } from '../../session/connection/reply.js';
import type { ChildNames } from '../../session/protocol/child-names.js';
import type { NodeData } from '../../session/protocol/records.js';
import type { Change } from '../../session/protocol/requests.js';
import type { Session } from '../../session/session.js';
import type { Watcher } from '../../session/watch-registry.js';

/** Lets only so many reads run at a time. The others wait, in the order in which they came. */
export class ReadSlots {
  #free: number;
  #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async run<T>(read: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await read();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}

export interface PacedListener<T> {
  /** At first, and after changes. */
  read(value: T): void;
  /** The node doesn't exist, or not any more. This is the last call. */
  gone(): void;
  /** A server refuses, or the session has ended. This is the last call. */
  failed(error: unknown): void;
}

/** How a node is read with a watch, and how the watch is removed. */
interface Watched<T> {
  read(watcher: Watcher): Promise<T>;
  cancel(watcher: Watcher): boolean;
  removeUnused(): boolean;
  /** The shortest pause after a read, in milliseconds. */
  paceMs(value: T): number;
}

type State =
  | { readonly name: 'reading'; isOutdated: boolean }
  | { readonly name: 'watching'; readonly againAtMs: number }
  | { readonly name: 'pausing'; readonly timer: Timer }
  | { readonly name: 'stopped' };

/** The shortest pause between two reads of a node that changes all the time. A lock may change hands a thousand times in a second. */
export const PACE_MS = 100;
/** So that no node costs more than 2,000 names in a second, however many children it has, and whether or not they are shown. */
const PACE_MS_BY_CHILD = 0.5;

/**
 * Reads a node with a watch, and again whenever it has changed, until it is gone. After a while without changes it reads at once, otherwise
 * after a pause, during which there is no watch either. The listener isn't called on the connection's stack.
 */
export class PacedWatch<T> implements Watcher {
  readonly #session: Session;
  readonly #slots: ReadSlots;
  readonly #watched: Watched<T>;
  readonly #listener: PacedListener<T>;
  #state: State = { name: 'reading', isOutdated: false };

  private constructor(session: Session, slots: ReadSlots, watched: Watched<T>, listener: PacedListener<T>) {
    this.#session = session;
    this.#slots = slots;
    this.#watched = watched;
    this.#listener = listener;
    void this.#read(); // Never rejects.
  }

  static ofData(session: Session, slots: ReadSlots, path: string, listener: PacedListener<NodeData>) {
    const watched = {
      read: (watcher: Watcher) => session.readAndWatch(path, watcher),
      cancel: (watcher: Watcher) => session.cancelWatch(path, watcher),
      removeUnused: () => session.removeUnusedWatch(path),
      paceMs: () => PACE_MS,
    };
    return new PacedWatch(session, slots, watched, listener);
  }

  static ofChildren(
    session: Session,
    slots: ReadSlots,
    path: string,
    listener: PacedListener<Reply<ChildNames>>,
  ) {
    const watched = {
      read: (watcher: Watcher) => session.listAndWatch(path, watcher),
      cancel: (watcher: Watcher) => session.cancelChildWatch(path, watcher),
      removeUnused: () => session.removeUnusedChildWatch(path),
      paceMs: ({ value }: Reply<ChildNames>) => Math.max(PACE_MS, value.count * PACE_MS_BY_CHILD),
    };
    return new PacedWatch(session, slots, watched, listener);
  }

  /** Whether the listener still has to learn of a change that was reported, or of the first read. */
  get isStale(): boolean {
    return this.#state.name === 'reading' || this.#state.name === 'pausing';
  }

  stop(): void {
    if (this.#state.name === 'pausing') this.#state.timer.clear();
    const mayBeWatched = this.#state.name === 'watching' || this.#state.name === 'reading';
    this.#state = { name: 'stopped' };
    // A read that waits for a connection still sets the watch later: `#read` removes it.
    if (mayBeWatched) this.#watched.cancel(this);
  }

  changed(change: Change): void {
    // Not on the connection's stack, and still before anything that the server sends after the event.
    microtask(() => {
      if (change === 'deleted') this.#end((listener) => listener.gone());
      else if (this.#state.name === 'watching') this.#readInTime(this.#state.againAtMs);
      else if (this.#state.name === 'reading') this.#state.isOutdated = true;
    });
  }

  #readInTime(againAtMs: number): void {
    const { clock } = this.#session;
    const pauseMs = againAtMs - clock.now();
    const read = () => {
      this.#state = { name: 'reading', isOutdated: false };
      void this.#read(); // Never rejects.
    };
    if (pauseMs <= 0) return read();
    this.#state = { name: 'pausing', timer: clock.after(pauseMs, read, { background: true }) };
  }

  async #read(): Promise<void> {
    const isStopped = () => this.#state.name === 'stopped';
    const read = () => (isStopped() ? Promise.reject(STOPPED) : this.#watched.read(this));
    try {
      const value = await this.#slots.run(() => this.#session.retryUntilAnswered(read));
      const state = this.#state;
      if (state.name !== 'reading') {
        if (isStopped()) this.#watched.removeUnused();
        return;
      }
      const againAtMs = this.#session.clock.now() + this.#watched.paceMs(value);
      if (state.isOutdated) this.#readInTime(againAtMs);
      else this.#state = { name: 'watching', againAtMs };
      this.#listener.read(value);
    } catch (error) {
      this.#end((listener) => (error instanceof NoNodeError ? listener.gone() : listener.failed(error)));
    }
  }

  #end(notify: (listener: PacedListener<T>) => void): void {
    if (this.#state.name === 'stopped') return;
    if (this.#state.name === 'pausing') this.#state.timer.clear();
    this.#state = { name: 'stopped' };
    notify(this.#listener);
  }
}

const STOPPED = new Error('the watch was stopped'); // Ends a read after `stop()`. Never seen outside.
