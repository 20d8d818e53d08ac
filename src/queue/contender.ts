import type { OwnNode } from '../lease/own-node.js';
import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import { abortable, anyAbort, ignore } from '../platform/async/promises.js';
import type { ChildNames } from '../session/protocol/child-names.js';
import { isNoAuth } from '../session/protocol/error-codes.js';
import type { Session } from '../session/session.js';
import { type EntryParser, type QueueEntry, withoutLater } from './names-and-order.js';
import { inCreationOrder } from './order-after-overflow.js';
import { isOwnerless } from './ownerless-contenders.js';
import { untilGone } from './predecessor-watch.js';
import type { TurnRule } from './turn-rule.js';

/** The facts about a contender's node when it has been created or found. */
interface CreatedNode<N> {
  readonly node: N;
  readonly entry: QueueEntry;
  readonly czxid: bigint;
  readonly listing?: SentListing;
}

/** A listing of the queue's children that was sent right behind a contender's creation, or later. */
export class SentListing {
  readonly reply: Promise<ChildNames>;
  /** Set when the reply has come. */
  names: ChildNames | undefined;

  constructor(reply: Promise<ChildNames>) {
    this.reply = reply;
    // If the reply is lost, the contender lists the children again when it needs them.
    reply.then((names) => {
      this.names = names;
    }, ignore);
  }
}

/**
 * A contender in the queue of a lock or an election, with its ephemeral sequential node below the queue's path. It follows
 * ZooKeeper's lock recipe, with Curator's protection against lost replies: the node's name contains a fresh uuid for every join.
 * So if the creation of a node was never answered, the node can be found again.
 */
export class Contender<out N extends OwnNode = OwnNode> {
  /** @internal */
  readonly session: Session;
  /** The queue's path. */
  readonly queue: string;
  readonly entry: QueueEntry;
  /** The transaction that created the node. It rises from one contender to the next, even if the queue was deleted in between. */
  readonly czxid: bigint;
  /** The contender's node, and its lease. */
  readonly node: N;
  readonly #parse: EntryParser;
  /** Kept until it is used. */
  #listing: SentListing | undefined;
  #leaving: Promise<void> | undefined;

  /** @internal {@link joinQueue} makes contenders. */
  constructor(
    session: Session,
    queue: string,
    parse: EntryParser,
    { node, entry, czxid, listing }: CreatedNode<N>,
  ) {
    this.session = session;
    this.queue = queue;
    this.#parse = parse;
    this.entry = entry;
    this.czxid = czxid;
    this.node = node;
    this.#listing = listing;
  }

  /**
   * Leaves the queue. Further calls return the same promise. Resolves when the node is gone or the session is over. Until then
   * the deletion is retried, so this may take as long as no server can be reached. Never rejects.
   * @param withWrite - deletes the node together with other writes. If the servers refuse that, the node is deleted alone
   */
  leave(withWrite?: () => Promise<unknown>): Promise<void> {
    this.node.release();
    this.#leaving ??= withWrite === undefined ? this.node.deleteForSure() : this.#leaveWith(withWrite);
    return this.#leaving;
  }

  async #leaveWith(withWrite: () => Promise<unknown>): Promise<void> {
    try {
      return void (await withWrite());
    } catch (error) {
      this.session.logger.debug(
        { err: error },
        'left the queue, but the servers did not carry out the write that goes with it',
      );
    }
    await this.node.deleteForSure();
  }

  /** Whether the queue has a node of that name that isn't ownerless. @throws as {@link Contender.untilGone} does */
  async nodeExists(name: string, signal?: Abortable): Promise<boolean> {
    const { controller: over, unsubscribe } = anyAbort(this.node.lost, signal);
    try {
      return await this.session.retryUntilAnswered(() => this.#nodeExists(name), over);
    } finally {
      unsubscribe();
    }
  }

  /** A node that the session may not read doesn't count as ownerless. */
  async #nodeExists(name: string): Promise<boolean> {
    try {
      const stat = await this.session.exists(`${this.queue}/${name}`);
      return stat !== undefined && !isOwnerless(this.session, this.queue, name, stat);
    } catch (error) {
      if (isNoAuth(error)) return true;
      throw error;
    }
  }

  /**
   * Resolves when the node of that name is gone from the queue.
   *
   * @throws NodeLostError if the contender's own node is gone, the error that ended the session, or the signal's reason
   */
  async untilGone(name: string, signal?: Abortable): Promise<void> {
    const { controller, unsubscribe } = anyAbort(this.node.lost, signal);
    try {
      await untilGone(this.session, this.queue, name, controller);
    } finally {
      unsubscribe();
    }
  }

  /** @internal Whether the first listing has come and shows no node ahead. Then no node can block, whatever the rule. */
  isFirst(): boolean {
    const names = this.#listing?.names?.strings(withoutLater(this.entry), 2);
    if (names?.length !== 1 || names[0] !== this.entry.node) return false;
    this.#listing = undefined; // It is no longer needed, and the contender may stay for long.
    return true;
  }

  /**
   * @internal The entries ahead that block this contender by the rule, the nearest last. @throws as {@link Contender.untilGone} does
   * @param listing - a listing of the queue that has just been sent. If its reply is lost, the queue is listed again
   */
  async listBlocking(
    rule: TurnRule,
    signal?: Abortable,
    listing?: Promise<ChildNames>,
  ): Promise<QueueEntry[]> {
    if (listing !== undefined) this.#listing = new SentListing(listing);
    const children = await this.session.retryUntilAnswered(() => this.#listChildren(), signal);
    const ordering = inCreationOrder(this.session, this.queue, children, this.#parse, this.entry);
    const queue = Array.isArray(ordering) ? ordering : await abortable(ordering, signal);
    const index = queue.findIndex(({ node }) => node === this.entry.node);
    if (index < 0) this.node.gone();
    this.node.lost.throwIfAborted();
    return queue
      .slice(0, Math.max(0, index))
      .filter((entry) => rule.blocks(entry) && !this.#isOwnerless(entry));
  }

  /** Whether a read has shown that the node is ownerless. Reads in earlier waits count, too: a name with a uuid is used only once. */
  #isOwnerless({ node }: QueueEntry): boolean {
    return this.session.guard.ownerless.has(this.queue, node);
  }

  /**
   * The queue up to this contender. The first call uses the listing that was sent with the creation: no node can have come ahead
   * since then.
   */
  async #listChildren(): Promise<string[]> {
    const listing = this.#listing;
    this.#listing = undefined; // It is used once. If its reply was lost, the next call lists again.
    const first = (await listing?.reply)?.strings(withoutLater(this.entry));
    if (first?.includes(this.entry.node)) return first;
    return (await this.session.listChildren(this.queue)).strings(withoutLater(this.entry));
  }
}
