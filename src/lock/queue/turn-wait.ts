import type { Abortable } from '../../platform/async/lazy-abort.js';
import { nextTick } from '../../platform/time/timers.js';
import type { Session } from '../../session/session.js';
import type { Contender, QueuePosition } from './contender.js';
import { type PredecessorListener, PredecessorWatch } from './predecessor-watch.js';
import { type TurnRule, toWatch } from './turn-rule.js';

/** How to wait in the queue. */
export interface WaitOptions {
  /** Aborting it ends the wait. */
  readonly signal?: Abortable | undefined;
  /** Called each time there turns out to be somebody ahead. */
  onWaiting?(place: QueuePosition): void;
  /** Called after that, once the nearest of those ahead was read and is watched: from then on its end will be told. */
  onWatching?(place: QueuePosition): void;
  /** Called whenever somebody ahead has gone and the queue is listed again: what is asked now is answered right after. */
  onListing?(): void;
}

/** Who waits for a turn: told once what comes of it. */
export interface TurnWaiter extends WaitOptions {
  turnCame(): void;
  turnFailed(reason: unknown): void;
}

/** Where a wait stands: the queue is being listed; some have to go, or the one next ahead; it is over. */
type WaitState = 'looking' | 'behind' | 'next' | 'over';

/**
 * A contender's wait for its turn. It may be for hours, and beside thousands of others: so it is an object that is told what
 * happens, and nothing else is suspended but while the queue is listed.
 */
export class TurnWait implements PredecessorListener {
  readonly #session: Session;
  readonly #contender: Contender;
  readonly #admission: TurnRule;
  readonly #waiter: TurnWaiter;
  #state: WaitState = 'looking';
  #vigil: PredecessorWatch | undefined;
  /** Where it stands, until that is watched. */
  #unwatched: QueuePosition | undefined;

  /** Begins with a look at the queue. */
  constructor(session: Session, contender: Contender, admission: TurnRule, waiter: TurnWaiter) {
    this.#session = session;
    this.#contender = contender;
    this.#admission = admission;
    this.#waiter = waiter;
    for (const each of this.#endings) each.addEventListener('abort', this, { once: true });
    void this.#look(); // Never rejects.
  }

  /** @internal One of what ends it has. */
  handleEvent(): void {
    this.failed(this.#endings.find(({ aborted }) => aborted)?.reason);
  }

  /**
   * @internal What is told while the queue is listed needn't be kept: that node has left the vigil, and if the listing still has
   * it, it is watched anew, and seen to be gone.
   */
  onGone(): void {
    if (this.#state === 'next') this.#end(() => this.#waiter.turnCame());
    else if (this.#state === 'behind') void this.#look(); // Never rejects.
  }

  /** @internal Those ahead are watched. */
  watching(): void {
    const place = this.#unwatched;
    this.#unwatched = undefined;
    if (place !== undefined && !this.#isOver()) this.#waiter.onWatching?.(place);
  }

  /** @internal */
  failed(reason: unknown): void {
    this.#end(() => this.#waiter.turnFailed(reason));
  }

  get #endings(): Abortable[] {
    const { signal } = this.#waiter;
    const { lost } = this.#contender.own;
    return signal === undefined ? [lost] : [lost, signal];
  }

  async #look(): Promise<void> {
    this.#state = 'looking';
    try {
      // Not given up when the wait is: what comes of it is of no interest then.
      const looking = this.#contender.inTheWay(this.#admission);
      if (this.#vigil !== undefined) this.#waiter.onListing?.();
      const inTheWay = (await looking).filter(({ node }) => !this.#vigil?.hasYielded(node));
      if (this.#isOver()) return;
      const missing = inTheWay.length - this.#admission.capacity;
      if (missing <= 0) return this.#end(() => this.#waiter.turnCame());
      const nearest = toWatch(inTheWay, this.#admission).map(({ node }) => node);
      this.#watch(missing, nearest, inTheWay.at(-1 - nearest.length)?.node);
    } catch (error) {
      this.failed(error);
    }
  }

  /** No more of the queue is kept than what is watched: everybody in it may wait for long. */
  #watch(missing: number, nearest: readonly string[], beyond: string | undefined): void {
    const { own, queue } = this.#contender;
    this.#vigil ??= new PredecessorWatch(this.#session, queue, this, this.#admission.noLongerBlocks);
    // Before the watch on the one ahead: so it is told of its own end before it could take its turn.
    own.watch();
    if (missing === 1) own.keepAlive();
    const place = { position: missing, ahead: nearest.at(-1) as string };
    this.#waiter.onWaiting?.(place);
    if (this.#waiter.onWatching !== undefined) this.#unwatched = place;
    if (this.#isOver()) return; // Whoever was told has given up.
    this.#state = missing === 1 ? 'next' : 'behind';
    if (this.#vigil.watch(nearest, missing === 1 ? undefined : beyond)) this.watching();
  }

  #isOver(): boolean {
    return this.#state === 'over';
  }

  #end(tell: () => void): void {
    if (this.#isOver()) return;
    this.#state = 'over';
    // Whoever waits for the turn is told first.
    nextTick(() => {
      this.#vigil?.end();
      for (const each of this.#endings) each.removeEventListener('abort', this);
    });
    tell();
  }
}
