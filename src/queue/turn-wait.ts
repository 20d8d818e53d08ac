import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import { nextTick } from '../platform/time/timers.js';
import type { AccompanyingRead } from '../session/keep-alive/keep-alive.js';
import type { ChildNames } from '../session/protocol/child-names.js';
import type { Contender } from './contender.js';
import type { QueueEntry } from './names-and-order.js';
import { type PredecessorListener, PredecessorWatch } from './predecessor-watch.js';
import { EXCLUSIVE, mayLeaveReader, type TurnRule, toWatch } from './turn-rule.js';

/** A waiting contender's position. */
export interface QueuePosition {
  /** How many nodes have to go before it is the contender's turn: 1 means next in line. */
  readonly position: number;
  /** The name of the nearest node that blocks the contender, for whose end it waits. */
  readonly ahead: string;
}

export interface TurnWaitOptions {
  /** Aborting it ends the wait. */
  readonly signal?: Abortable | undefined;
  /** Called each time a listing shows nodes that block the contender. */
  onWaiting?(position: QueuePosition): void;
  /**
   * Called after `onWaiting`, once the nearest blocking node was read and is watched. From then on the contender will notice that
   * node's end.
   */
  onWatching?(position: QueuePosition): void;
  /** As {@link PredecessorListener.insteadOfProbe}. */
  insteadOfProbe?(secondPredecessor: string, list: () => void): AccompanyingRead | undefined;
  /**
   * Called when a node ahead has gone, before the queue is listed again. A request that is sent now is answered right before the listing.
   */
  beforeListing?(): void;
  /** Called when that listing has been sent. */
  onListing?(): void;
}

/** The code that waits for a turn. Exactly one of its two methods is called, once. */
export interface TurnWaiter extends TurnWaitOptions {
  turnCame(): void;
  turnFailed(reason: unknown): void;
}

/**
 * Resolves when it is the contender's turn, by default when no node is ahead. It takes one watch, on the nearest blocking node.
 * If that node was the only one, the contender needs no read when it goes, unless it was a writer's (see {@link mayLeaveReader}).
 * The next in line for a lock keeps its lease alive, so that it holds as soon as the notification comes. The lease of a candidate begins
 * with its term.
 *
 * No notification tells a contender that it has become the next in line, since that would be a second notification for each
 * handover. It mostly notices within a fifth of the session timeout: it sends a probe of its second predecessor, the nearest node
 * that it doesn't watch, in place of a ping. As long as that node exists, the contender isn't next.
 *
 * The end of the predecessor never means "my turn" while another node is left ahead (etcd3 #176).
 *
 * @throws NodeLostError if the contender's node is gone, the error that ended the session, or the signal's reason
 */
export function untilTurn(
  contender: Contender,
  options: TurnWaitOptions = {},
  rule: TurnRule = EXCLUSIVE,
): Promise<void> {
  return new Promise((turnCame, turnFailed) =>
    awaitTurn(contender, { ...options, turnCame, turnFailed }, rule),
  );
}

/**
 * As {@link untilTurn}, but without a promise. Calls `waiter`, at once if the contender is known to be first.
 * @throws as {@link untilTurn} does, if the wait is over before it begins
 */
export function awaitTurn(contender: Contender, waiter: TurnWaiter, rule: TurnRule = EXCLUSIVE): void {
  contender.node.lost.throwIfAborted();
  waiter.signal?.throwIfAborted();
  if (contender.isFirst()) waiter.turnCame();
  else void new TurnWait(contender, waiter, rule);
}

/**
 * The state of a wait. `listing`: the queue is being listed. `blocked`: when a node goes, the queue has to be listed again, because several
 * nodes have to go, or another may be there in its place. `next`: when a node goes, the turn has come. `ended`: the wait is over.
 */
type WaitState = 'listing' | 'blocked' | 'next' | 'ended';

/**
 * A contender's wait for its turn. It may last for hours, beside thousands of others, so it is an object with callbacks. An async
 * function is suspended only while the queue is listed. A waiting lock takes some 3 kB; a chain of promises takes 21 kB.
 */
class TurnWait implements PredecessorListener {
  readonly #contender: Contender;
  readonly #waiter: TurnWaiter;
  readonly #rule: TurnRule;
  #state: WaitState = 'listing';
  #predecessors: PredecessorWatch | undefined;
  /** The position, until the nearest node is watched. */
  #unwatched: QueuePosition | undefined;

  /** Begins by listing the queue. */
  constructor(contender: Contender, waiter: TurnWaiter, rule: TurnRule) {
    this.#contender = contender;
    this.#waiter = waiter;
    this.#rule = rule;
    for (const each of this.#endings) each.addEventListener('abort', this, { once: true });
    void this.#list(); // Never rejects.
  }

  /** One of the signals that end the wait has aborted. */
  handleEvent(): void {
    this.failed(this.#endings.find(({ aborted }) => aborted)?.reason);
  }

  /** Ignored while the queue is listed. If the listing still has the node, a new watch finds that it is gone. */
  onGone(): void {
    if (this.#state === 'next') this.#end(() => this.#waiter.turnCame());
    else if (this.#state === 'blocked') void this.#list(); // Never rejects.
  }

  watching(): void {
    const position = this.#unwatched;
    this.#unwatched = undefined;
    if (position !== undefined && !this.#hasEnded()) this.#waiter.onWatching?.(position);
  }

  insteadOfProbe(secondPredecessor: string, list: () => void): AccompanyingRead | undefined {
    return this.#waiter.insteadOfProbe?.(secondPredecessor, list);
  }

  failed(reason: unknown): void {
    this.#end(() => this.#waiter.turnFailed(reason));
  }

  get #endings(): Abortable[] {
    const { signal } = this.#waiter;
    const { lost } = this.#contender.node;
    return signal === undefined ? [lost] : [lost, signal];
  }

  async #list(): Promise<void> {
    this.#state = 'listing';
    try {
      // The end of the wait doesn't cancel the listing. Its result is then ignored.
      const listed = await this.#contender.listBlocking(this.#rule, undefined, this.#listAgain());
      const blocking = listed.filter(({ node }) => !this.#predecessors?.hasUnblocked(node));
      if (this.#hasEnded()) return;
      const missing = blocking.length - this.#rule.capacity;
      if (missing <= 0) return this.#end(() => this.#waiter.turnCame());
      const nearest = toWatch(blocking, this.#rule);
      this.#watch(missing, nearest, blocking.at(-1 - nearest.length)?.node);
    } catch (error) {
      this.failed(error);
    }
  }

  /** Sends the listing after a node ahead has gone, if the waiter wants to send a request right behind it. */
  #listAgain(): Promise<ChildNames> | undefined {
    if (this.#predecessors === undefined) return undefined;
    this.#waiter.beforeListing?.();
    if (this.#waiter.onListing === undefined) return undefined;
    const { session, queue } = this.#contender;
    const listing = session.listChildren(queue);
    this.#waiter.onListing();
    return listing;
  }

  /** Keeps only the watched nodes of the queue in memory: every contender in it may wait for long. */
  #watch(missing: number, entries: readonly QueueEntry[], secondPredecessor: string | undefined): void {
    const { node, queue, session } = this.#contender;
    const nearest = entries.map((entry) => entry.node);
    this.#predecessors ??= new PredecessorWatch(session, queue, this, this.#rule.noLongerBlocks);
    // This comes before the watch on the predecessor, so that the contender hears of its own node's end before it could take its turn.
    node.watch();
    if (missing === 1 && node.raised === undefined) node.keepAlive();
    const position = { position: missing, ahead: nearest.at(-1) as string };
    this.#waiter.onWaiting?.(position);
    if (this.#waiter.onWatching !== undefined) this.#unwatched = position;
    if (this.#hasEnded()) return; // The listener may have ended the wait.
    this.#state = missing === 1 && !mayLeaveReader(entries, this.#rule) ? 'next' : 'blocked';
    if (this.#predecessors.watch(nearest, missing === 1 ? undefined : secondPredecessor)) this.watching();
  }

  #hasEnded(): boolean {
    return this.#state === 'ended';
  }

  #end(notify: () => void): void {
    if (this.#hasEnded()) return;
    this.#state = 'ended';
    // The waiter is notified first.
    nextTick(() => {
      this.#predecessors?.end();
      for (const each of this.#endings) each.removeEventListener('abort', this);
    });
    notify();
  }
}
