import { AsyncResource } from 'node:async_hooks';
import { LockTimeoutError } from '../errors.js';
import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort.js';
import { abortable, anyAbort, ignore, settledWithin } from '../platform/async/promises.js';
import type { Timer } from '../platform/time/clock.js';
import { nextTick } from '../platform/time/timers.js';
import type { Session } from '../session/session.js';
import { LockGrant, type Mode } from './grant.js';
import type { AcquireOptions, ResolvedLockOptions } from './lock.js';
import { GrantHold } from './lock-hold.js';
import type { Contender } from './queue/contender.js';
import { joinQueue, withdraw } from './queue/join.js';
import type { EntryParser, Purpose } from './queue/order.js';
import { hasTurn } from './queue/turn-check.js';
import type { TurnRule } from './queue/turn-rule.js';
import { awaitTurn, type QueuePosition, type TurnWaiter, untilTurn } from './queue/turn-wait.js';

/** What one kind of lock is, beyond the queue. */
export interface LockKind {
  /** What its contenders come for. */
  readonly purpose: Purpose;
  /** How it is held. */
  readonly mode: Mode;
  /** What `using` is reentrant for: the lock itself, unless two locks are two sides of one. */
  readonly identity: object;
}

/** What can be acquired: a lock. */
export interface Acquirable extends LockKind {
  readonly session: Session;
  readonly path: string;
  readonly options: ResolvedLockOptions;
  readonly parse: EntryParser;
  /** Who must be gone before a contender holds. @param signal - aborts when the answer is of no interest any more */
  admission(signal: Abortable): TurnRule | Promise<TurnRule>;
}

/** The reason with which what an acquisition has left behind is ended. Never seen outside. */
const DONE = new Error('nobody waits for it any more');

/** That something wasn't done with a lock in time. */
export function tooLate({ path }: { readonly path: string }, what: string, ms: number): LockTimeoutError {
  return new LockTimeoutError(`${path} was not ${what} within ${ms} ms`);
}

/**
 * One call that waits for a lock, from the place in the queue to the hold. One that fails leaves nothing in the queue.
 *
 * Thousands may wait in one process, and for long: while it waits for its turn, this object is all that there is of the call.
 */
export class Acquisition implements TurnWaiter {
  readonly #lock: Acquirable;
  readonly #userSignal: AbortSignal | undefined;
  readonly #settle: (hold: GrantHold) => void;
  readonly #refuse: (reason: unknown) => void;
  readonly #giveUp = new LazyAbortController();
  readonly #timer: Timer | undefined;
  readonly onWaiting?: (place: QueuePosition) => void;
  #contender: Contender | undefined;
  #renewing: Promise<void> | undefined;

  private constructor(
    lock: Acquirable,
    { timeoutMs, signal, onWaiting }: AcquireOptions,
    settle: (hold: GrantHold) => void,
    refuse: (reason: unknown) => void,
  ) {
    this.#lock = lock;
    this.#settle = settle;
    this.#refuse = refuse;
    // What is begun in it belongs to the work that asks for the lock, however often it is called.
    if (onWaiting !== undefined) {
      const tell = AsyncResource.bind(onWaiting);
      this.onWaiting = (place) => tell(place);
    }
    this.#userSignal = signal;
    signal?.addEventListener('abort', this, { once: true });
    // "Now or never" still takes the servers' answers: no longer than a dead link needs to be found out.
    const limitMs = timeoutMs === 0 ? lock.session.leaseMs : timeoutMs;
    if (limitMs !== undefined)
      this.#timer = lock.session.clock.after(limitMs, () =>
        this.#giveUp.abort(tooLate(lock, 'acquired', limitMs)),
      );
    void this.#join(timeoutMs === 0); // Never rejects.
  }

  /** @param options - that were checked, with a signal that hasn't aborted */
  static begin(lock: Acquirable, options: AcquireOptions): Promise<GrantHold> {
    return new Promise((settle, refuse) => new Acquisition(lock, options, settle, refuse));
  }

  /** @internal Aborts when it is given up: in time, or because the caller wants no more of it. */
  get signal(): LazyAbortController {
    return this.#giveUp;
  }

  /** @internal The caller has had enough. */
  handleEvent(): void {
    this.#giveUp.abort(this.#userSignal?.reason);
  }

  /** Takes a place in the queue, and waits there unless it is now or never. */
  async #join(nowOrNever: boolean): Promise<void> {
    const { session, path, options, purpose, parse } = this.#lock;
    const { data, access } = options;
    let joining: Promise<Contender> | undefined;
    try {
      const admission = this.#lock.admission(this.#giveUp);
      const first = 'capacity' in admission ? admission : await abortable(admission, this.#giveUp);
      this.#giveUp.throwIfAborted();
      joining = joinQueue(session, path, {
        ...(data !== undefined && { data }),
        access,
        purpose,
        parse,
        signal: this.#giveUp,
      });
      const contender = await abortable(joining, this.#giveUp);
      this.#contender = contender;
      if (nowOrNever) this.#takeIf(await this.#isAdmitted(contender, first));
      // Where the answer stays true, the turn is all that there is to wait for.
      else if (first.outdated === undefined) awaitTurn(contender, this, first);
      else this.#takeIf(await this.#untilAdmitted(contender, first));
    } catch (error) {
      await this.#fail(error, joining);
    }
  }

  async #untilAdmitted(contender: Contender, first: TurnRule): Promise<true> {
    const onListing = () => this.onListing();
    const wait = { onListing, ...(this.onWaiting !== undefined && { onWaiting: this.onWaiting }) };
    for (let admission = first; ; admission = await this.#ask()) {
      const { outdated } = admission;
      const { controller, unsubscribe } = anyAbort(this.#giveUp, outdated);
      try {
        await untilTurn(contender, { ...wait, signal: controller }, admission);
        return true;
      } catch (error) {
        if (!outdated?.aborted || error !== outdated.reason) throw error;
      } finally {
        unsubscribe();
      }
    }
  }

  /** Not waited for any longer than somebody waits for the lock: there may be no server to ask. */
  async #ask(): Promise<TurnRule> {
    const admission = this.#lock.admission(this.#giveUp);
    return 'capacity' in admission ? admission : await abortable(admission, this.#giveUp);
  }

  /** Now or never. */
  async #isAdmitted(contender: Contender, first: TurnRule): Promise<boolean> {
    for (let admission = first; ; admission = await this.#ask()) {
      const admitted = await abortable(hasTurn(contender, admission), this.#giveUp);
      // Told of before what was read here: the answer is one to a question that nobody asks any more.
      if (!admission.outdated?.aborted) return admitted;
    }
  }

  #takeIf(isAdmitted: boolean): void {
    if (!isAdmitted) throw tooLate(this.#lock, 'acquired', 0);
    this.turnCame();
  }

  /** @internal Together with the listing that shows whether it is its turn: what is asked now is answered right after. */
  onListing(): void {
    const { node } = this.#contender as Contender;
    this.#renewing = undefined;
    if (node.remainingAtMostMs() >= this.#leaseToBeginWith) return;
    this.#renewing = node.renew(this.#giveUp);
    this.#renewing.catch(ignore); // Seen when it is its turn.
  }

  /** @internal Its turn has come. */
  turnCame(): void {
    // What is left of the lease says nothing of a node that is lost: that comes out below.
    const { node } = this.#contender as Contender;
    if (this.#renewing !== undefined || node.remainingMs() < this.#leaseToBeginWith)
      void this.#holdUnderLease();
    else this.#hold();
  }

  /** @internal Its turn won't come. */
  turnFailed(reason: unknown): void {
    void this.#fail(reason); // Never rejects.
  }

  /** Never rejects. */
  async #holdUnderLease(): Promise<void> {
    const { node } = this.#contender as Contender;
    try {
      if (this.#renewing !== undefined) await this.#renewing;
      if (node.remainingMs() < this.#leaseToBeginWith) await node.renew(this.#giveUp);
      this.#hold();
    } catch (error) {
      await this.#fail(error);
    }
  }

  /** Nobody is in the way, and there is a lease to act on. */
  #hold(): void {
    const { session, identity, mode, options } = this.#lock;
    const contender = this.#contender as Contender;
    try {
      contender.node.lost.throwIfAborted();
      this.#giveUp.throwIfAborted();
      const { onRevoke } = options;
      const asked = onRevoke === undefined ? undefined : () => onRevoke(hold);
      const place = new LockGrant(contender, session, identity, asked);
      const hold: GrantHold = new GrantHold(place, mode);
      this.#settle(hold);
      this.#done();
    } catch (error) {
      this.turnFailed(error);
    }
  }

  /** Nothing may be left in the queue: of a place that is still being taken neither. Never rejects. */
  async #fail(reason: unknown, joining?: Promise<Contender>): Promise<void> {
    const leaving = this.#contender?.leave() ?? (joining && withdraw(joining));
    if (leaving !== undefined) await this.#leftOrUnreachable(leaving);
    this.#refuse(reason);
    this.#done();
  }

  /** The caller may look at once whether anything is left: nothing is, if a server can be reached. */
  async #leftOrUnreachable(leaving: Promise<void>): Promise<void> {
    const { clock, leaseMs, state } = this.#lock.session;
    if (state.name === 'connected') await settledWithin(clock, leaving, leaseMs);
    else void leaving; // Never rejects, and goes on until a server can be reached or the session is over.
  }

  /** With less than that nobody begins to hold, in milliseconds. */
  get #leaseToBeginWith(): number {
    return this.#lock.session.leaseMs / 2;
  }

  #done(): void {
    // Whoever asked is told first.
    nextTick(() => {
      this.#timer?.clear();
      this.#userSignal?.removeEventListener('abort', this);
      this.#giveUp.abort(DONE); // Ends what has been left behind: a watch, say.
    });
  }
}
