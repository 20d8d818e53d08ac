import { NodeExistsError, NoNodeError } from '../../errors.js';
import type { Abortable } from '../../platform/async/lazy-abort-controller.js';
import { abortable, anyAbort, deferred, microtask } from '../../platform/async/promises.js';
import type { Timer } from '../../platform/time/clock.js';
import type { Reply } from '../connection/reply.js';
import { NodeWatch } from '../node-watch.js';
import type { ChildNames } from '../protocol/child-names.js';
import type { NodeData } from '../protocol/multi-and-stats.js';
import type { Change } from '../protocol/requests.js';
import type { Session } from '../session.js';
import type { Watcher } from '../watch-registry.js';

/** What is read of a node, with a watch that shows the next change of it. */
interface Part<T> {
  read(session: Session, path: string, watcher: Watcher): Promise<T>;
  cancel(session: Session, path: string, watcher: Watcher): boolean;
  removeUnused(session: Session, path: string): boolean;
}

export const DATA: Part<NodeData> = {
  read: (session, path, watcher) => session.readAndWatch(path, watcher),
  cancel: (session, path, watcher) => session.cancelWatch(path, watcher),
  removeUnused: (session, path) => session.removeUnusedWatch(path),
};

export const CHILDREN: Part<Reply<ChildNames>> = {
  read: (session, path, watcher) => session.listAndWatch(path, watcher),
  cancel: (session, path, watcher) => session.cancelChildWatch(path, watcher),
  removeUnused: (session, path) => session.removeUnusedChildWatch(path),
};

/** Listens to a {@link FollowedNode}. Never called on the connection's stack. */
export interface FollowedNodeListener<T> {
  /** It was read: at first, when it has come, and after changes. */
  read(value: T): void;
  /** There is no such node, or no longer. The last call, unless the node is waited for or made. Then it may come again and again. */
  missing(): void;
  /** The node can't be read: a server refuses, or the session has ended. The last call, unless the node is made. */
  failed(error: unknown): void;
}

export interface FollowOptions<T> {
  /**
   * - `end`: it isn't followed any further.
   * - `wait`: it is read again when it is created, which a watch shows.
   * - `make`: it is created after a lease, and read again. A read that a server refuses is tried again in the same way. Without
   *   its parents: with them a tree that an operator deletes would be there again.
   */
  readonly whenMissing: 'end' | 'wait' | 'make';
  /** The reads wait for their turn there. */
  readonly slots?: { run<R>(read: () => Promise<R>): Promise<R> };
  /** The shortest pause after a read, in milliseconds, during which the node isn't watched. @default none */
  pauseMs?(value: T): number;
}

type State =
  | { readonly name: 'reading'; isOutdated: boolean }
  | { readonly name: 'watching'; readonly againAtMs: number }
  | { readonly name: 'pausing'; readonly timer: Timer }
  | { readonly name: 'waiting'; unwatch(): void }
  | { readonly name: 'making' }
  /** `leavesWatch`: it was stopped without a connection. A read that was held will set the watch all the same. */
  | { readonly name: 'stopped'; readonly leavesWatch: boolean };

const STOPPED = new Error('the node is no longer followed'); // Ends a read after `stop()`. Callers never see it.

/**
 * Reads a node, or lists its children, and again whenever that has changed, with one watch all the time. For what shows the node: what
 * decides by it uses a {@link NodeWatch}, which reads without a pause and takes less memory.
 */
export class FollowedNode<T> implements Watcher {
  readonly #session: Session;
  readonly #path: string;
  readonly #part: Part<T>;
  readonly #listener: FollowedNodeListener<T>;
  readonly #options: FollowOptions<T>;
  #state: State = { name: 'reading', isOutdated: false };

  constructor(
    session: Session,
    path: string,
    part: Part<T>,
    listener: FollowedNodeListener<T>,
    options: FollowOptions<T>,
  ) {
    this.#session = session;
    this.#path = path;
    this.#part = part;
    this.#listener = listener;
    this.#options = options;
    this.#read();
  }

  /** Whether the listener still has to learn of a change that was reported, or of the first read. */
  get isStale(): boolean {
    return this.#state.name === 'reading' || this.#state.name === 'pausing';
  }

  /** Reads it again, unless that is about to happen: the answer shows what was reported before it. */
  again(): void {
    microtask(() => {
      if (this.#state.name === 'watching') this.#readAt(this.#state.againAtMs);
    });
  }

  stop(): void {
    const state = this.#leave();
    const mayBeWatched = state.name === 'watching' || state.name === 'reading';
    const leavesWatch = mayBeWatched && !this.#part.cancel(this.#session, this.#path, this);
    this.#state = { name: 'stopped', leavesWatch };
  }

  changed(change: Change): void {
    // Not on the connection's stack, and still before anything that the server sends after the event.
    microtask(() => {
      const state = this.#state;
      if (state.name !== 'watching' && state.name !== 'reading') return;
      if (change === 'deleted') this.#missing();
      else if (state.name === 'watching') this.#readAt(state.againAtMs);
      else state.isOutdated = true;
    });
  }

  /** Ends the timer, or the wait for the creation. @returns the state */
  #leave(): State {
    const state = this.#state;
    if (state.name === 'pausing') state.timer.clear();
    if (state.name === 'waiting') state.unwatch();
    return state;
  }

  #readAt(ms: number): void {
    const pauseMs = ms - this.#session.clock.now();
    if (pauseMs <= 0) this.#read();
    else this.#pause(pauseMs, () => this.#read());
  }

  #pause(ms: number, then: () => void): void {
    this.#state = {
      name: 'pausing',
      timer: this.#session.clock.after(ms, then, { background: true }),
    };
  }

  #read(): void {
    const state: State = { name: 'reading', isOutdated: false };
    this.#state = state;
    void this.#ask(state); // Never rejects.
  }

  async #ask(state: State & { name: 'reading' }): Promise<void> {
    const { slots, pauseMs } = this.#options;
    const session = this.#session;
    const isCurrent = () => this.#state === state;
    const read = () => (isCurrent() ? this.#part.read(session, this.#path, this) : Promise.reject(STOPPED));
    const readUntilAnswered = () => session.retryUntilAnswered(read);
    try {
      const value = await (slots === undefined ? readUntilAnswered() : slots.run(readUntilAnswered));
      if (!isCurrent()) return this.#unwatch();
      const againAtMs = session.clock.now() + (pauseMs?.(value) ?? 0);
      if (state.isOutdated) this.#readAt(againAtMs);
      else this.#state = { name: 'watching', againAtMs };
      this.#listener.read(value);
    } catch (error) {
      if (!isCurrent()) return;
      if (error instanceof NoNodeError) this.#missing();
      else this.#failed(error);
    }
  }

  #unwatch(): void {
    if (this.#state.name === 'stopped' && this.#state.leavesWatch)
      this.#part.removeUnused(this.#session, this.#path);
  }

  #missing(): void {
    switch (this.#options.whenMissing) {
      case 'end':
        this.#state = { name: 'stopped', leavesWatch: false };
        break;
      case 'wait':
        this.#wait();
        break;
      case 'make':
        this.#makeLater();
    }
    this.#listener.missing();
  }

  #failed(error: unknown): void {
    if (this.#options.whenMissing === 'make' && !this.#session.ended.aborted) this.#makeLater();
    else this.#state = { name: 'stopped', leavesWatch: false };
    this.#listener.failed(error);
  }

  #wait(): void {
    const session = this.#session;
    const again = () => {
      if (this.#state !== waiting) return;
      waiting.unwatch(); // Before the read, which sets a watch of the same path.
      this.#read();
    };
    session.on('resumed', again); // A lost connection ends the watch for a creation.
    const unwatch = session.watchCreation(this.#path, () => microtask(again), again);
    const waiting = {
      name: 'waiting' as const,
      unwatch: () => {
        session.off('resumed', again);
        unwatch();
      },
    };
    this.#state = waiting;
  }

  #makeLater(): void {
    this.#pause(this.#session.leaseMs, () => void this.#make()); // Never rejects.
  }

  async #make(): Promise<void> {
    const making: State = { name: 'making' };
    this.#state = making;
    try {
      await this.#session.retryUntilAnswered(() => this.#session.create(this.#path));
    } catch (error) {
      if (this.#state !== making) return;
      if (!(error instanceof NodeExistsError)) return this.#failed(error);
    }
    if (this.#state === making) this.#read();
  }
}

/**
 * Reads a node, and again after each change, until `look` finds something in it.
 * @returns what it has found; `undefined` when the node is gone
 * @throws the signal's reason, the error that ended the session, or a server's `ZooKeeperError`
 */
export async function untilFound<T>(
  session: Session,
  path: string,
  look: (node: NodeData) => T | undefined,
  signal: Abortable,
): Promise<T | undefined> {
  const { controller: over, unsubscribe } = anyAbort(signal, session.ended);
  const found = deferred<T | undefined>();
  const watch = new NodeWatch(session, path, {
    read: (node) => {
      const what = look(node);
      if (what !== undefined) found.resolve(what);
    },
    gone: () => found.resolve(undefined),
    failed: found.reject,
  });
  try {
    return await abortable(found.promise, over);
  } finally {
    watch.stop();
    unsubscribe();
  }
}
