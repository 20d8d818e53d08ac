import { describe, NodeLostError, NoNodeError } from '../../errors.js';
import { deleteForSure, EphemeralNode } from '../../lease/ephemeral-node.js';
import type { Abortable } from '../../platform/async/lazy-abort.js';
import { abortable, anyAbort, ignore } from '../../platform/async/promises.js';
import { isUnanswered } from '../../session/operations.js';
import type { Access } from '../../session/protocol/acl.js';
import type { ChildNames } from '../../session/protocol/child-names.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { Session } from '../../session/session.js';
import { countBlocking } from './blocking-nodes.js';
import {
  type EntryParser,
  entryPrefix,
  type Purpose,
  parseLockEntry,
  type QueueEntry,
  queueOf,
  withoutLater,
} from './order.js';
import { untilGone } from './predecessor-watch.js';
import { inCreationOrder } from './sequence-overflow.js';
import { EXCLUSIVE, type TurnRule, toWatch } from './turn-rule.js';
import { TurnWait, type TurnWaiter, type WaitOptions } from './turn-wait.js';

const NO_DATA = Buffer.alloc(0);

/** With this a wait ends that was for so long at most. Never seen outside. */
const ENOUGH = new Error('waited for long enough');

/** Where a contender stands. */
export interface QueuePosition {
  /** How many have to go before it is its turn: 1 means next in line. */
  readonly position: number;
  /** The name of the node that it waits for: the nearest that stands in its way. */
  readonly ahead: string;
}

/** How to join. */
export interface JoinOptions {
  /** What the node says. @default nothing */
  readonly data?: Buffer;
  /** A uuid that was never used before. @default one of the session's */
  readonly id?: string;
  /** What it comes for. @default 'lock' */
  readonly purpose?: Purpose;
  /** Who may touch its node, and the queue's path if that is missing. @default whom the session lets */
  readonly access?: Access | undefined;
  /** Who counts as a contender. @default whoever has a name of ours or Curator's */
  readonly parse?: EntryParser;
  /** Aborts when the place is of no use any more: from then on no node is created. One that may exist is still looked for. */
  readonly signal?: Abortable;
}

/** What is known of a node when it has been created, or found. */
interface NewPlace {
  readonly path: string;
  readonly entry: QueueEntry;
  readonly token: bigint;
  /** When its creation was sent, if that is known. */
  readonly sentAt?: number;
  readonly listing?: FirstListing;
}

/** The children as they were right after a contender's creation. */
class FirstListing {
  readonly arrives: Promise<ChildNames>;
  /** Once it has arrived. */
  names: ChildNames | undefined;

  constructor(arrives: Promise<ChildNames>) {
    this.arrives = arrives;
    // If it is lost, it is asked for again when it is needed.
    arrives.then((names) => {
      this.names = names;
    }, ignore);
  }
}

/**
 * One place in the queue of a lock or an election: an ephemeral sequential node below the queue's path.
 *
 * Follows ZooKeeper's lock recipe, with Curator's protection against lost replies: the node's name holds a uuid that
 * is fresh for every join, so that a node whose creation was never answered can be found again.
 */
export class Contender {
  /** The queue's path. */
  readonly queue: string;
  readonly entry: QueueEntry;
  /** The transaction that created the node: rises from one contender to the next, whatever becomes of the queue. */
  readonly token: bigint;
  /** The contender's node, and its lease. */
  readonly own: EphemeralNode;
  readonly #session: Session;
  readonly #parse: EntryParser;
  /** Until it is looked at. */
  #listing: FirstListing | undefined;
  #leaving: Promise<void> | undefined;

  private constructor(
    session: Session,
    queue: string,
    parse: EntryParser,
    { path, entry, token, sentAt, listing }: NewPlace,
  ) {
    this.#session = session;
    this.queue = queue;
    this.#parse = parse;
    this.entry = entry;
    this.token = token;
    this.own = EphemeralNode.of(session, path, sentAt);
    this.#listing = listing;
  }

  /**
   * Takes a place at the end of the queue, whose path is created if it is missing. Whoever gives up waiting for it aborts
   * the signal, and calls {@link withdraw} with its promise: there may be a node already.
   *
   * @throws the signal's reason if it aborts while there is certainly no node
   * @throws UnprotectedPathError if the path isn't safe to stand on, what ended the session, or a `ZooKeeperError` when
   *   the server refuses
   */
  static async join(session: Session, queue: string, options: JoinOptions = {}): Promise<Contender> {
    const { data = NO_DATA, access, purpose, signal, parse = parseLockEntry } = options;
    const uuid = options.id ?? session.environment.uuid();
    const prefix = `${queue}/${entryPrefix(uuid, purpose)}`;
    for (;;) {
      // Mostly there is nothing to wait for: then the request is written before anything else is done.
      if (session.state.name !== 'connected') await session.whenConnected(signal);
      const checking = session.guard.check(queue, access);
      if (checking !== undefined) await checking;
      signal?.throwIfAborted();
      try {
        const creating = session.createSequential(prefix, data, access);
        // Asked for together: a session's requests are carried out in their order, so it shows the new node too.
        const listing = new FirstListing(session.listChildren(queue, true));
        const confirming = session.guard.confirm(queue);
        confirming?.catch(ignore); // Seen below, unless there is no node.
        const { value: path, zxid: token, sentAt } = await creating;
        const place = { path, entry: entryOf(path), token, sentAt, listing };
        const contender = new Contender(session, queue, parse, place);
        if (confirming !== undefined) await contender.#stayIf(confirming);
        return contender;
      } catch (error) {
        if (error instanceof NoNodeError) {
          session.guard.forget(queue);
          await session.ensurePath(queue, access);
        } else if (!isUnanswered(error)) throw error;
        else {
          const found = await Contender.#find(session, queue, uuid, parse);
          if (found === undefined) continue;
          await found.#stayIf(session.guard.confirm(queue));
          return found;
        }
      }
    }
  }

  /** Leaves if the queue's path isn't safe to stand on. @throws as {@link Contender.join} does */
  async #stayIf(confirmed: Promise<void> | undefined): Promise<void> {
    try {
      await confirmed;
    } catch (error) {
      await this.leave();
      throw error;
    }
  }

  /** After a creation without an answer: finds the node if there is one, and is sure that none comes later. */
  static async #find(
    session: Session,
    queue: string,
    id: string,
    parse: EntryParser,
  ): Promise<Contender | undefined> {
    try {
      // A committed write on the connection of now: what an earlier connection of this session had under way has
      // been carried out before it, or is refused (the session has moved). After it a read tells the truth.
      await session.retryUntilAnswered(() => session.commit([{ kind: 'check', path: queue }]));
      const children = await session.retryUntilAnswered(() => session.getChildren(queue));
      for (const entry of queueOf(children, parseLockEntry).filter((each) => each.id === id)) {
        const path = `${queue}/${entry.node}`;
        const stat = await session.retryUntilAnswered(() => session.exists(path));
        // A node of another session is a dying one's ghost (CURATOR-498, -696): never adopt it.
        if (stat !== undefined && session.owns(stat))
          return new Contender(session, queue, parse, { path, entry, token: stat.czxid });
      }
      return undefined;
    } catch (error) {
      if (error instanceof NoNodeError) return undefined;
      throw error;
    }
  }

  /**
   * Resolves when it is the contender's turn, by default when nobody is ahead: with one watch, on the nearest ahead. When
   * that one goes while it was the only one, nothing needs to be read. The next in line is kept under lease, so that it
   * holds at the very notification.
   *
   * Nobody is told that it is next in line: that would be a second notification for each handover. It notices, within a
   * fifth of the session timeout, by looking at the nearest that it doesn't watch, in the place of a ping: as long as
   * that one is there, it isn't next.
   *
   * The end of the one ahead never means "my turn" while somebody else is left ahead (etcd3 #176).
   *
   * @throws NodeLostError if the own node is gone, what ended the session, or the signal's reason
   */
  untilTurn(options: WaitOptions = {}, admission: TurnRule = EXCLUSIVE): Promise<void> {
    return new Promise((turnCame, turnFailed) =>
      this.awaitTurn({ ...options, turnCame, turnFailed }, admission),
    );
  }

  /**
   * As {@link Contender.untilTurn}, for whoever keeps very many: tells `waiter` what comes of it, at once if nobody at all is
   * ahead.
   *
   * @throws as that does, if the wait is over before it begins
   */
  awaitTurn(waiter: TurnWaiter, admission: TurnRule): void {
    this.own.lost.throwIfAborted();
    waiter.signal?.throwIfAborted();
    if (!this.#isFirst()) return void new TurnWait(this.#session, this, admission, waiter);
    this.#listing = undefined; // It would be kept for as long as the place is.
    waiter.turnCame();
  }

  /** Whether it is its turn right now. @throws as {@link Contender.untilTurn} does */
  async hasTurn(admission: TurnRule = EXCLUSIVE): Promise<boolean> {
    const { capacity: spare } = admission;
    const inTheWay = await this.inTheWay(admission, this.own.lost);
    if (inTheWay.length <= spare) return true;
    // Mostly these are enough to say no; the others may be very many.
    const nearest = await this.#countFirm(toWatch(inTheWay, admission), admission);
    if (nearest > spare) return false;
    return nearest + (await this.#countFirm(inTheWay.slice(0, -spare - 1), admission)) <= spare;
  }

  #countFirm(entries: readonly QueueEntry[], { noLongerBlocks: yields }: TurnRule): Promise<number> {
    const paths = entries.map(({ node }) => `${this.queue}/${node}`);
    return countBlocking(this.#session, paths, this.own.lost, yields);
  }

  /** Whether there is a node of that name in the queue, of some session. @throws as {@link Contender.untilTurn} does */
  async sees(node: string, signal?: Abortable): Promise<boolean> {
    const { controller: over, unsubscribe } = anyAbort(this.own.lost, signal);
    const path = `${this.queue}/${node}`;
    try {
      return await this.#session.retryUntilAnswered(() => this.#isFirm(path), over);
    } finally {
      unsubscribe();
    }
  }

  /** Whether there is a node at `path` that goes with a session. One that may not be read is taken for one that does. */
  async #isFirm(path: string): Promise<boolean> {
    try {
      const stat = await this.#session.exists(path);
      return stat !== undefined && !this.#session.guard.ownerless.isOne(path, stat);
    } catch (error) {
      if (isNoAuth(error)) return true;
      throw error;
    }
  }

  /**
   * Resolves when the node of that name is gone from the queue, or after `atMostMs`.
   *
   * @throws as {@link Contender.untilTurn} does
   */
  async untilGone(node: string, signal?: Abortable, atMostMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { controller, unsubscribe } = anyAbort(this.own.lost, signal);
    const timer = Number.isFinite(atMostMs)
      ? this.#session.clock.after(atMostMs, () => controller.abort(ENOUGH))
      : undefined;
    try {
      await untilGone(this.#session, `${this.queue}/${node}`, controller);
    } catch (error) {
      if (error !== ENOUGH) throw error;
    } finally {
      timer?.clear();
      unsubscribe();
    }
  }

  /**
   * Gives the place up, once, however often it is called. Resolves when the node is gone, or the session is over:
   * until then the deletion is tried again and again, so this may take as long as the servers are away. Never
   * rejects.
   *
   * @param withWrite - a write that deletes the node together with something else; if it is refused, the node is
   *   deleted alone
   */
  leave(withWrite?: () => Promise<unknown>): Promise<void> {
    this.own.release();
    this.#leaving ??=
      withWrite === undefined ? deleteForSure(this.#session, this.own.path) : this.#leaveWith(withWrite);
    return this.#leaving;
  }

  async #leaveWith(withWrite: () => Promise<unknown>): Promise<void> {
    try {
      return void (await withWrite());
    } catch (error) {
      this.#session.logger.debug(
        { cause: describe(error) },
        'left the queue without the write that should go with it',
      );
    }
    await deleteForSure(this.#session, this.own.path);
  }

  /** Whether its first listing is there and has nobody at all ahead: whatever the admission, nobody is in the way. */
  #isFirst(): boolean {
    const names = this.#listing?.names?.strings(withoutLater(this.entry), 2);
    return names?.length === 1 && names[0] === this.entry.node;
  }

  /** @internal Those ahead that stand in the way, as far as is known, the nearest last. @throws as {@link Contender.untilTurn} does */
  async inTheWay(admission: TurnRule, over?: Abortable): Promise<QueueEntry[]> {
    const children = await this.#session.retryUntilAnswered(() => this.#listChildren(), over);
    const ages = inCreationOrder(this.#session, this.queue, children, this.#parse, this.entry);
    const queue = Array.isArray(ages) ? ages : await abortable(ages, over);
    const place = queue.findIndex(({ node }) => node === this.entry.node);
    if (place < 0) this.own.gone();
    this.own.lost.throwIfAborted();
    return queue
      .slice(0, Math.max(0, place))
      .filter((entry) => admission.blocks(entry) && !this.#isOwnerless(entry));
  }

  /**
   * Whether the node was seen to go with no session. What was seen in earlier waits counts for names with a uuid only: another
   * client's name may be a number alone, which comes again when the queue was deleted and is made anew.
   */
  #isOwnerless({ node }: QueueEntry): boolean {
    return this.#session.guard.ownerless.has(this.queue, node) && parseLockEntry(node) !== undefined;
  }

  /**
   * The queue up to this contender: who stands behind it makes no difference to it. The first listing is the one that was
   * asked for with the creation: nobody can have come ahead since.
   */
  async #listChildren(): Promise<string[]> {
    const listing = this.#listing;
    this.#listing = undefined; // Used once: its reply may be lost, and is asked for again then.
    const first = (await listing?.arrives)?.strings(withoutLater(this.entry));
    if (first?.includes(this.entry.node)) return first;
    return (await this.#session.listChildren(this.queue)).strings(withoutLater(this.entry));
  }
}

/** For a join whose result nobody waits for any more: leaves as soon as it has a place. Never rejects. */
export async function withdraw(joining: Promise<Contender>): Promise<void> {
  await joining.then((contender) => contender.leave()).catch(ignore); // It never had a place, or the session is over.
}

function entryOf(path: string): QueueEntry {
  const entry = parseLockEntry(path.slice(path.lastIndexOf('/') + 1));
  if (entry === undefined)
    throw new NodeLostError(`the server named a contender ${path}, which can't be read`);
  return entry;
}
