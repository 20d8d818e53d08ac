import { microtask } from '../../platform/async/promises.js';
import { NodeWatch } from '../../session/node-watch.js';
import type { NodeData } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';

export interface FollowerListener {
  /** The node was read: when it is there, and after each change. */
  read(node: NodeData): void;
  /** There is no such node, or not any more. It may be called again while there is none. */
  missing(): void;
  /** The node can't be read: a server refuses, or the session has ended. The last call. */
  failed(error: unknown): void;
}

interface Waiting {
  readonly name: 'waiting';
  unwatch(): void;
}

type FollowerState =
  | { readonly name: 'reading'; readonly watch: NodeWatch }
  | Waiting
  | { readonly name: 'stopped' };

/**
 * Follows a node that may come and go: reads it after each change while it is there, and waits for its creation while it isn't. With one
 * watch either way. The listener isn't called on the connection's stack.
 */
export class NodeFollower {
  readonly #session: Session;
  readonly #path: string;
  readonly #listener: FollowerListener;
  #state: FollowerState;

  constructor(session: Session, path: string, listener: FollowerListener) {
    this.#session = session;
    this.#path = path;
    this.#listener = listener;
    this.#state = this.#reading();
  }

  /** To be called when the session is served again: a lost connection ends the watch for a creation. */
  resumed(): void {
    if (this.#state.name !== 'waiting') return;
    this.#state.unwatch();
    this.#state = this.#reading();
  }

  stop(): void {
    if (this.#state.name === 'reading') this.#state.watch.stop();
    if (this.#state.name === 'waiting') this.#state.unwatch();
    this.#state = { name: 'stopped' };
  }

  #reading(): FollowerState {
    const watch: NodeWatch = new NodeWatch(this.#session, this.#path, {
      read: (node) => this.#listener.read(node),
      gone: () => this.#wait(),
      failed: (error) => {
        this.#state = { name: 'stopped' };
        this.#listener.failed(error);
      },
    });
    return { name: 'reading', watch };
  }

  #wait(): void {
    const created = () => {
      if (this.#state === waiting) this.#state = this.#reading();
    };
    const there = () => {
      if (this.#state !== waiting) return;
      waiting.unwatch(); // Before the read, which sets a watch of the same path.
      this.#state = this.#reading();
    };
    const waiting: Waiting = {
      name: 'waiting',
      unwatch: this.#session.watchCreation(this.#path, () => microtask(created), there),
    };
    this.#state = waiting;
    this.#listener.missing();
  }
}
