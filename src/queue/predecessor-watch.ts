import { NoNodeError, type ZooKeeperError } from '../errors.js';
import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import { abortable, anyAbort, deferred, ignore } from '../platform/async/promises.js';
import {
  membersOf,
  type SmallSet,
  withMember,
  withoutMember,
} from '../platform/collections/lists-and-sets.js';
import type { AccompanyingRead, AccompanyingReads } from '../session/keep-alive/keep-alive.js';
import { type NodeListener, NodeWatch } from '../session/node-watch.js';
import type { NodeData } from '../session/protocol/multi-and-stats.js';
import { existsRequest } from '../session/protocol/requests.js';
import type { Session } from '../session/session.js';
import { isOwnerless, orUnreadable } from './ownerless-contenders.js';

/**
 * Resolves when the node of that name is gone from the queue, or is ownerless: such a node would stay forever.
 * @throws UnreadableNodeError if the session may not read the node, the signal's reason, the error that ended the session, or a
 *   server's `ZooKeeperError`
 */
export async function untilGone(
  session: Session,
  queue: string,
  name: string,
  signal: Abortable,
): Promise<void> {
  const path = `${queue}/${name}`;
  // After the session's end there are no more notifications of changes.
  const { controller: over, unsubscribe } = anyAbort(signal, session.ended);
  const gone = deferred();
  const read = ({ stat }: NodeData) => {
    if (isOwnerless(session, queue, name, stat)) gone.resolve();
  };
  const failed = (error: unknown) => gone.reject(orUnreadable(error, session.absolute(path)));
  const watch = new NodeWatch(session, path, { read, gone: gone.resolve, failed });
  try {
    await abortable(gone.promise, over);
  } finally {
    watch.stop();
    unsubscribe();
  }
}

const PROBES_PER_READ = 4;

/** Listens to a {@link PredecessorWatch}. Never called on the connection's stack. */
export interface PredecessorListener {
  /** One of the nodes was read and is watched. Called again when its data changes. */
  watching(): void;
  /** One of the nodes is gone or no longer blocks. */
  onGone(): void;
  /**
   * A read that now and then replaces a probe of the second predecessor, the node of that name.
   * @param list - the listener calls it if the answer shows that nodes ahead may have gone. Then the queue is listed again
   */
  insteadOfProbe(secondPredecessor: string, list: () => void): AccompanyingRead | undefined;
  /** The nodes can't be watched, because a server refuses or the session is over. */
  failed(reason: unknown): void;
}

/**
 * Watches the nearest blocking nodes of a queue, each with one watch for as long as it matters. It probes the second predecessor,
 * which isn't watched. A contender may wait for hours, beside thousands of others, and only this object is left of it. So it uses
 * objects with callbacks, and no promises that wait for each other: a waiter takes some 3 kB instead of 21 kB.
 */
export class PredecessorWatch implements AccompanyingReads {
  readonly #session: Session;
  readonly #queue: string;
  readonly #listener: PredecessorListener;
  readonly #noLongerBlocks: ((data: Buffer) => boolean) | undefined;
  #watched: SmallSet<WatchedNode>;
  #unblocked: Set<string> | undefined;
  #probed = 0;
  /** The name of the node that is probed and not watched. */
  #secondPredecessor: string | undefined;

  /** @param noLongerBlocks - whether a node has stopped blocking, by its data */
  constructor(
    session: Session,
    queue: string,
    listener: PredecessorListener,
    noLongerBlocks?: (data: Buffer) => boolean,
  ) {
    this.#session = session;
    this.#queue = queue;
    this.#listener = listener;
    this.#noLongerBlocks = noLongerBlocks;
  }

  /** Whether the node was read and didn't block any more. It may still exist. */
  hasUnblocked(name: string): boolean {
    return this.#unblocked?.has(name) === true;
  }

  /**
   * Watches these nodes from now on, and no others, and probes the second predecessor, if there is one.
   *
   * @returns whether all of these nodes were watched before; then `watching` isn't called for them
   */
  watch(names: readonly string[], secondPredecessor: string | undefined): boolean {
    const paths = names.map((name) => this.#pathOf(name));
    // A node that is no longer listed has gone. Its watch may fire later, and that would count as another node's end.
    for (const watched of membersOf(this.#watched)) if (!paths.includes(watched.path)) this.#unwatch(watched);
    const kept = membersOf(this.#watched).map(({ path }) => path);
    for (const path of paths)
      if (!kept.includes(path))
        this.#watched = withMember(this.#watched, new WatchedNode(this, this.#session, path));
    this.#stopProbing();
    this.#secondPredecessor = secondPredecessor;
    if (secondPredecessor !== undefined) this.#session.keepAlive.addIdleReads(this);
    return kept.length === paths.length;
  }

  end(): void {
    for (const watched of membersOf(this.#watched)) this.#unwatch(watched);
    this.#stopProbing();
  }

  #pathOf(name: string): string {
    return `${this.#queue}/${name}`;
  }

  /** @internal Probes the second predecessor. Every fourth time it is the read that the listener gives. */
  nextRead(): AccompanyingRead {
    const name = this.#secondPredecessor as string;
    const other =
      ++this.#probed % PROBES_PER_READ === 0
        ? this.#listener.insteadOfProbe(name, () => this.#mayBeGone(name))
        : undefined;
    const refused = (error: ZooKeeperError) => {
      if (error instanceof NoNodeError) this.#mayBeGone(name);
    };
    return (
      other ?? {
        request: existsRequest(this.#session.absolute(this.#pathOf(name))),
        answered: ignore,
        refused,
      }
    );
  }

  #mayBeGone(name: string): void {
    if (this.#secondPredecessor !== name) return;
    this.#stopProbing();
    this.#listener.onGone();
  }

  nodeRead(watched: WatchedNode, { data, stat }: NodeData): void {
    const name = watched.path.slice(this.#queue.length + 1);
    const blocks =
      !isOwnerless(this.#session, this.#queue, name, stat) && this.#noLongerBlocks?.(data) !== true;
    if (blocks) return this.#listener.watching();
    this.#unblocked = (this.#unblocked ?? new Set()).add(name);
    this.nodeGone(watched);
  }

  nodeGone(watched: WatchedNode): void {
    this.#unwatch(watched);
    this.#stopProbing();
    this.#listener.onGone();
  }

  nodeFailed({ path }: WatchedNode, reason: unknown): void {
    this.#listener.failed(orUnreadable(reason, this.#session.absolute(path)));
  }

  #unwatch(watched: WatchedNode): void {
    watched.stop();
    this.#watched = withoutMember(this.#watched, watched);
  }

  #stopProbing(): void {
    if (this.#secondPredecessor !== undefined) this.#session.keepAlive.removeIdleReads(this);
    this.#secondPredecessor = undefined;
  }
}

/** The watch on one node, for a {@link PredecessorWatch}. An object takes less memory than a closure for each callback. */
class WatchedNode implements NodeListener {
  readonly path: string;
  readonly #owner: PredecessorWatch;
  readonly #watch: NodeWatch;

  constructor(owner: PredecessorWatch, session: Session, path: string) {
    this.path = path;
    this.#owner = owner;
    this.#watch = new NodeWatch(session, path, this);
  }

  stop(): void {
    this.#watch.stop();
  }

  read(node: NodeData): void {
    this.#owner.nodeRead(this, node);
  }

  gone(): void {
    this.#owner.nodeGone(this);
  }

  failed(error: unknown): void {
    this.#owner.nodeFailed(this, error);
  }
}
