import { type Abortable, onAbort } from '../ending.js';
import { abortable, type Deferred, deferred, endingWith, ignore } from '../promises.js';
import type { Glance } from '../session/heartbeat.js';
import { type Follower, NodeWatch } from '../session/node-watch.js';
import type { NodeData } from '../session/records.js';
import type { Session } from '../session/session.js';

/**
 * Resolves when there is no such node.
 *
 * @throws the signal's reason, what ended the session, or a `ZooKeeperError` if a server refuses
 */
export async function untilGone(session: Session, path: string, signal: Abortable): Promise<void> {
  // Nobody tells of a change any more when the session is over.
  const { ending: over, forget } = endingWith(signal, session.over);
  const gone = deferred();
  const watch = new NodeWatch(session, path, { read: ignore, gone: gone.resolve, failed: gone.reject });
  try {
    await abortable(gone.promise, over);
  } finally {
    watch.stop();
    forget();
  }
}

/**
 * Keeps an eye on some nodes of a queue, each with one watch for as long as it is of interest. It is what is left of a
 * contender that waits, for hours perhaps and beside thousands of others: so it is objects, not promises that wait for
 * each other.
 */
export class Vigil {
  readonly #session: Session;
  readonly #queue: string;
  readonly #yields: ((data: Buffer) => boolean) | undefined;
  #forget: () => void = ignore;
  #posts: Post[] = [];
  #yielded: Set<string> | undefined;
  #glance: Glance | undefined;
  /** Whom to tell of the next change. */
  #change: Deferred<void> | undefined;
  #failure: { readonly reason: unknown } | undefined;

  /**
   * @param signal - ends it when it aborts
   * @param yields - whether a node doesn't stand in the way any more, because of what it says
   */
  constructor(session: Session, queue: string, signal: Abortable, yields?: (data: Buffer) => boolean) {
    this.#session = session;
    this.#queue = queue;
    this.#yields = yields;
    this.#forget = onAbort(signal, () => this.fail(signal.reason));
  }

  /** Whether it is there and was seen to stand in nobody's way any more. */
  hasYielded(node: string): boolean {
    return this.#yielded?.has(node) === true;
  }

  /**
   * Resolves when one of these is gone, or doesn't stand in the way any more; or when `beyond`, which isn't watched but
   * looked at now and then, was seen to be gone.
   *
   * @throws the signal's reason, what ended the session, or a `ZooKeeperError` if a server refuses
   */
  untilOneLess(nodes: readonly string[], beyond?: string): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.reason);
    const change = deferred();
    this.#change = change;
    // One that isn't among them has gone, and its post may not have heard of it yet: that would be told as the end of another.
    for (const post of this.#posts) if (!nodes.includes(post.node)) post.watch.stop();
    this.#posts = nodes.map(
      (node) =>
        this.#posts.find((post) => post.node === node) ??
        new Post(this, node, this.#session, this.#path(node)),
    );
    if (beyond !== undefined) {
      this.#glance = { path: this.#session.absolute(this.#path(beyond)), gone: () => this.#tell() };
      this.#session.addGlance(this.#glance);
    }
    return change.promise;
  }

  /** Takes all watches back. */
  end(): void {
    this.#forget();
    for (const post of this.#posts) post.watch.stop();
    this.#posts = [];
    this.#lookAway();
  }

  #path(node: string): string {
    return `${this.#queue}/${node}`;
  }

  /** What one of the posts has to tell: its node says something. */
  heard(post: Post, data: Buffer): void {
    if (this.#yields?.(data) !== true) return;
    post.watch.stop();
    this.#yielded = (this.#yielded ?? new Set()).add(post.node);
    this.left(post);
  }

  /** What one of the posts has to tell: there is nothing to be watched any more. */
  left(post: Post): void {
    this.#posts = this.#posts.filter((each) => each !== post);
    this.#tell();
  }

  /** Ends it. The first reason counts. */
  fail(reason: unknown): void {
    this.#failure ??= { reason };
    this.end();
    this.#change?.reject(reason);
  }

  #tell(): void {
    this.#lookAway();
    this.#change?.resolve();
  }

  #lookAway(): void {
    if (this.#glance !== undefined) this.#session.removeGlance(this.#glance);
    this.#glance = undefined;
  }
}

/** Where a vigil watches one node. */
class Post implements Follower {
  readonly node: string;
  readonly watch: NodeWatch;
  readonly #vigil: Vigil;

  constructor(vigil: Vigil, node: string, session: Session, path: string) {
    this.#vigil = vigil;
    this.node = node;
    this.watch = new NodeWatch(session, path, this);
  }

  read({ data }: NodeData): void {
    this.#vigil.heard(this, data);
  }

  gone(): void {
    this.#vigil.left(this);
  }

  failed(error: unknown): void {
    this.#vigil.fail(error);
  }
}
