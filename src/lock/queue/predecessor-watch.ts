import type { Abortable } from '../../platform/async/lazy-abort.js';
import { abortable, anyAbort, deferred } from '../../platform/async/promises.js';
import { membersOf, type SmallSet, withMember, withoutMember } from '../../platform/collections/small-set.js';
import type { ExistenceProbe } from '../../session/connection/heartbeat.js';
import { type NodeListener, NodeWatch } from '../../session/node-watch.js';
import type { NodeData } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import { orUnreadable } from './unreadable-node.js';

/**
 * Resolves when there is no such node, or none that goes with a session: it would stay for ever.
 *
 * @throws UnreadableNodeError if it can't be read, the signal's reason, what ended the session, or a `ZooKeeperError` if a
 *   server refuses
 */
export async function untilGone(session: Session, path: string, signal: Abortable): Promise<void> {
  // Nobody tells of a change any more when the session is over.
  const { controller: over, unsubscribe } = anyAbort(signal, session.ended);
  const gone = deferred();
  const read = ({ stat }: NodeData) => {
    if (session.guard.ownerless.isOne(path, stat)) gone.resolve();
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

/** Who keeps a vigil. Told nothing on the connection's stack. */
export interface PredecessorListener {
  /** One of the nodes was read, and is watched. Told again when it says something else. */
  watching(): void;
  /** One of the nodes is gone, or doesn't stand in the way any more. */
  onGone(): void;
  /** They can't be watched: a server refuses, or the session is over. */
  failed(reason: unknown): void;
}

/**
 * Keeps an eye on some nodes of a queue, each with one watch for as long as it is of interest, and on one more, which isn't
 * watched but looked at now and then. It is what is left of a contender that waits, for hours perhaps and beside thousands
 * of others: so it is objects, not promises that wait for each other.
 */
export class PredecessorWatch implements ExistenceProbe {
  readonly #session: Session;
  readonly #queue: string;
  readonly #keeper: PredecessorListener;
  readonly #yields: ((data: Buffer) => boolean) | undefined;
  #posts: SmallSet<WatchedNode>;
  #yielded: Set<string> | undefined;
  /** The node that is only looked at. */
  #beyond: string | undefined;

  /** @param yields - whether a node doesn't stand in the way any more, because of what it says */
  constructor(
    session: Session,
    queue: string,
    keeper: PredecessorListener,
    yields?: (data: Buffer) => boolean,
  ) {
    this.#session = session;
    this.#queue = queue;
    this.#keeper = keeper;
    this.#yields = yields;
  }

  /** Whether it is there and was seen to stand in nobody's way any more. */
  hasYielded(node: string): boolean {
    return this.#yielded?.has(node) === true;
  }

  /**
   * From now on it is about these nodes, and `beyond`, if there is one.
   *
   * @returns whether all of these nodes were watched before: then nobody is told that they are
   */
  watch(nodes: readonly string[], beyond: string | undefined): boolean {
    const paths = nodes.map((node) => this.#path(node));
    // One that isn't among them has gone, and its post may not have heard of it yet: that would be told as the end of another.
    for (const post of membersOf(this.#posts)) if (!paths.includes(post.path)) this.#leave(post);
    const kept = membersOf(this.#posts).map(({ path }) => path);
    for (const path of paths)
      if (!kept.includes(path))
        this.#posts = withMember(this.#posts, new WatchedNode(this, this.#session, path));
    this.#lookAway();
    this.#beyond = beyond;
    if (beyond !== undefined) this.#session.heartbeat.addProbe(this);
    return kept.length === paths.length;
  }

  /** Takes all watches back. */
  end(): void {
    for (const post of membersOf(this.#posts)) this.#leave(post);
    this.#lookAway();
  }

  #path(node: string): string {
    return `${this.#queue}/${node}`;
  }

  /** @internal Where it looks now and then. */
  get path(): string {
    return this.#session.absolute(this.#path(this.#beyond as string));
  }

  /** @internal What it looks at now and then is gone. */
  gone(): void {
    this.#lookAway();
    this.#keeper.onGone();
  }

  /** What one of the posts has to tell: its node says something. */
  heard(post: WatchedNode, { data, stat }: NodeData): void {
    const isInTheWay = !this.#session.guard.ownerless.isOne(post.path, stat) && this.#yields?.(data) !== true;
    if (isInTheWay) return this.#keeper.watching();
    this.#yielded = (this.#yielded ?? new Set()).add(post.path.slice(this.#queue.length + 1));
    this.left(post);
  }

  /** What one of the posts has to tell: there is nothing to be watched any more. */
  left(post: WatchedNode): void {
    this.#leave(post);
    this.#lookAway();
    this.#keeper.onGone();
  }

  /** What one of the posts has to tell: its node can't be watched. */
  failed(post: WatchedNode, reason: unknown): void {
    this.#keeper.failed(orUnreadable(reason, this.#session.absolute(post.path)));
  }

  #leave(post: WatchedNode): void {
    post.stop();
    this.#posts = withoutMember(this.#posts, post);
  }

  #lookAway(): void {
    if (this.#beyond !== undefined) this.#session.heartbeat.removeProbe(this);
    this.#beyond = undefined;
  }
}

/** Where a vigil watches one node. */
class WatchedNode implements NodeListener {
  readonly path: string;
  readonly #vigil: PredecessorWatch;
  readonly #watch: NodeWatch;

  constructor(vigil: PredecessorWatch, session: Session, path: string) {
    this.path = path;
    this.#vigil = vigil;
    this.#watch = new NodeWatch(session, path, this);
  }

  stop(): void {
    this.#watch.stop();
  }

  read(node: NodeData): void {
    this.#vigil.heard(this, node);
  }

  gone(): void {
    this.#vigil.left(this);
  }

  failed(error: unknown): void {
    this.#vigil.failed(this, error);
  }
}
