import { NoNodeError } from '../errors.js';
import { microtask } from '../platform/async/promises.js';
import type { Operations } from './operations.js';
import type { NodeData } from './protocol/multi-and-stats.js';
import type { Change } from './protocol/requests.js';
import type { Watcher } from './watch-registry.js';

type NodeOperations = Pick<
  Operations<never>,
  'readAndWatch' | 'retryUntilAnswered' | 'cancelWatch' | 'removeUnusedWatch'
>;

export interface NodeListener {
  /** The node has changed, and is about to be read. Requests in this call go out in the same packet. */
  changing?(): void;
  /** The node was read, at first and after each change. */
  read(node: NodeData): void;
  /** The node doesn't exist, or doesn't any more. The last call. */
  gone(): void;
  /** The node can't be read, because a server refuses or the session has ended. The last call. */
  failed(error: unknown): void;
}

const STOPPED = new Error('the watch was stopped'); // Ends a read after `stop()`. Callers never see it.

/**
 * Reads a node, and again after each change, until it is gone. Use it for nodes whose names are used only once: a deleted node
 * doesn't come back. The listener isn't called on the connection's stack. Only a read notices the end of the session, so the
 * caller has to listen for that as well.
 *
 * Between changes the watch is hardly more than its entry in the watch registry. Because this and the other waits are objects and
 * not promises, a waiting contender takes 8.8 kB instead of 21.3 kB.
 */
export class NodeWatch implements Watcher {
  readonly #operations: NodeOperations;
  readonly #path: string;
  readonly #listener: NodeListener;
  #hasEnded = false;
  #leavesWatch = false; // It was stopped without a connection. A read that was held will set the watch all the same.

  constructor(operations: NodeOperations, path: string, listener: NodeListener) {
    this.#operations = operations;
    this.#path = path;
    this.#listener = listener;
    void this.#read(); // Never rejects.
  }

  stop(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#leavesWatch = !this.#operations.cancelWatch(this.#path, this);
  }

  /** A change is only a hint, and the read after it counts. A deletion needs no read. */
  changed(change: Change): void {
    // Not on the connection's stack, but before anything that the server sends after the event.
    microtask(() => {
      if (change === 'deleted') this.#end((listener) => listener.gone());
      else if (!this.#hasEnded) {
        this.#listener.changing?.();
        void this.#read(); // Never rejects.
      }
    });
  }

  async #read(): Promise<void> {
    // One request reads and watches, so no deletion goes unnoticed between the two.
    const read = () =>
      this.#hasEnded ? Promise.reject(STOPPED) : this.#operations.readAndWatch(this.#path, this);
    try {
      const node = await this.#operations.retryUntilAnswered(read);
      if (this.#leavesWatch) this.#operations.removeUnusedWatch(this.#path);
      if (!this.#hasEnded) this.#listener.read(node);
    } catch (error) {
      this.#end((listener) => (error instanceof NoNodeError ? listener.gone() : listener.failed(error)));
    }
  }

  #end(notify: (listener: NodeListener) => void): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    notify(this.#listener);
  }
}
