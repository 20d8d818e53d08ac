import { NoNodeError } from '../errors.js';
import { microtask } from '../platform/async/promises.js';
import type { NodeData } from './protocol/records.js';
import type { Change } from './protocol/requests.js';
import type { Session } from './session.js';
import type { Watcher } from './watch-registry.js';

/** Who follows a node. */
export interface NodeListener {
  /** What the node says, at first and after each change. */
  read(node: NodeData): void;
  /** There is no such node, or not any more. The last word. */
  gone(): void;
  /** It can't be read: a server refuses, or the session is over. The last word. */
  failed(error: unknown): void;
}

/** With this a read ends that nobody wants any more. Never seen outside. */
const STOPPED = new Error('nobody follows it any more');

/**
 * Reads a node, and again whenever it has changed, until it is gone. While nothing happens it is hardly more than its
 * entry among the session's watchers: there may be very many, and they may wait for very long.
 *
 * For nodes of which the names are used once: what was deleted doesn't come back. Nothing is told on the connection's
 * stack. The end of the session is only seen by a read: whoever waits listens for that as well.
 */
export class NodeWatch implements Watcher {
  readonly #session: Session;
  readonly #path: string;
  readonly #follower: NodeListener;
  #isOver = false;
  /** Taken back without a connection, while the read that sets the watch was held: it goes out all the same. */
  #isUntold = false;

  constructor(session: Session, path: string, follower: NodeListener) {
    this.#session = session;
    this.#path = path;
    this.#follower = follower;
    void this.#read(); // Never rejects.
  }

  /** Nothing is told from now on. */
  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isUntold = !this.#session.takeBackWatch(this.#path, this);
  }

  /** Each change is only a hint: what counts is what is read after it. But for a deletion, which says it all. */
  changed(change: Change): void {
    // Not on the connection's stack, and still before anything that the server says after the event.
    microtask(() => {
      if (change === 'deleted') this.#end((follower) => follower.gone());
      else if (!this.#isOver) void this.#read(); // Never rejects.
    });
  }

  async #read(): Promise<void> {
    // Reading and watching in one request: no deletion goes unnoticed between the two.
    const read = () =>
      this.#isOver ? Promise.reject(STOPPED) : this.#session.readAndWatch(this.#path, this);
    try {
      const node = await this.#session.retryUntilAnswered(read);
      if (this.#isUntold) this.#session.forgetWatch(this.#path);
      if (!this.#isOver) this.#follower.read(node);
    } catch (error) {
      this.#end((follower) => (error instanceof NoNodeError ? follower.gone() : follower.failed(error)));
    }
  }

  #end(tell: (follower: NodeListener) => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    tell(this.#follower);
  }
}
