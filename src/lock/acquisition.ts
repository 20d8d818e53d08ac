import { AsyncResource } from 'node:async_hooks';
import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort.js';
import { abortable, anyAbort, ignore, settledWithin } from '../platform/async/promises.js';
import type { Timer } from '../platform/time/clock.js';
import { nextTick } from '../platform/time/timers.js';
import type { Session } from '../session/session.js';
import { LockGrant, type Mode } from './grant.js';
import { type AcquireOptions, type ResolvedLockOptions, tooLate } from './lock.js';
import { GrantHold } from './lock-hold.js';
import type { Contender } from './queue/contender.js';
import { joinQueue, withdraw } from './queue/join.js';
import type { EntryParser, Purpose } from './queue/order.js';
import { hasTurn } from './queue/turn-check.js';
import type { TurnRule } from './queue/turn-rule.js';
import { awaitTurn, type QueuePosition, type TurnWaiter, untilTurn } from './queue/turn-wait.js';

/** What one kind of lock is, beyond the queue. */
export interface LockKind {
  readonly purpose: Purpose;
  readonly mode: Mode;
  /** What `using` is reentrant for: the lock itself, unless two locks are two sides of one. */
  readonly identity: object;
}

/** What an acquisition has to know of a lock. */
export interface Acquirable extends LockKind {
  readonly session: Session;
  readonly path: string;
  readonly options: ResolvedLockOptions;
  readonly parse: EntryParser;
  /** Which contenders must be gone before another one holds. @param signal - aborts when the answer is no longer needed */
  turnRule(signal: Abortable): TurnRule | Promise<TurnRule>;
}

/** Ends what an acquisition may have left behind. Never leaves this module. */
const ACQUISITION_OVER = new Error('the acquisition is over');

/**
 * One call that waits for a lock: it joins the queue, waits for its turn, makes sure of a lease, and holds. A call that fails
 * leaves nothing in the queue. Thousands may wait in one process, and for long: while a call waits for its turn, this object is
 * all that is left of it. With its wait and its watch it takes some 3 kB; as a chain of pending promises it took 21 kB.
 */
export class Acquisition implements TurnWaiter {
  readonly #lock: Acquirable;
  readonly #userSignal: AbortSignal | undefined;
  readonly #resolve: (hold: GrantHold) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #cancellation = new LazyAbortController();
  readonly #timer: Timer | undefined;
  readonly onWaiting?: (position: QueuePosition) => void;
  #contender: Contender | undefined;
  #renewing: Promise<void> | undefined;

  private constructor(
    lock: Acquirable,
    { timeoutMs, signal, onWaiting }: AcquireOptions,
    resolve: (hold: GrantHold) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#lock = lock;
    this.#resolve = resolve;
    this.#reject = reject;
    // What the listener begins belongs to the work that asks for the lock, at each of its calls.
    if (onWaiting !== undefined) {
      const notify = AsyncResource.bind(onWaiting);
      this.onWaiting = (position) => notify(position);
    }
    this.#userSignal = signal;
    signal?.addEventListener('abort', this, { once: true });
    // "Now or never" still waits for the servers' replies: for no longer than it takes to find a dead link.
    const limitMs = timeoutMs === 0 ? lock.session.leaseMs : timeoutMs;
    if (limitMs !== undefined)
      this.#timer = lock.session.clock.after(limitMs, () =>
        this.#cancellation.abort(tooLate(lock, 'acquired', limitMs)),
      );
    void this.#join(timeoutMs === 0); // Never rejects.
  }

  /** @param options - that were checked, with a signal that hasn't aborted */
  static begin(lock: Acquirable, options: AcquireOptions): Promise<GrantHold> {
    return new Promise((resolve, reject) => new Acquisition(lock, options, resolve, reject));
  }

  /** @internal Aborts when the wait ends early: its time is up, or the caller's signal has aborted. */
  get signal(): LazyAbortController {
    return this.#cancellation;
  }

  /** @internal The caller's signal has aborted. */
  handleEvent(): void {
    this.#cancellation.abort(this.#userSignal?.reason);
  }

  /** Step 1: joins the queue, and waits there for its turn, or looks once if it is now or never. Never rejects. */
  async #join(nowOrNever: boolean): Promise<void> {
    const { session, path, options, purpose, parse } = this.#lock;
    const { data, access } = options;
    let joining: Promise<Contender> | undefined;
    try {
      const asked = this.#askRule();
      const rule = 'capacity' in asked ? asked : await asked;
      this.#cancellation.throwIfAborted();
      joining = joinQueue(session, path, {
        ...(data !== undefined && { data }),
        access,
        purpose,
        parse,
        signal: this.#cancellation,
      });
      const contender = await abortable(joining, this.#cancellation);
      this.#contender = contender;
      // Where the rule never changes, nothing of this function is kept during the wait.
      if (!nowOrNever && rule.outdated === undefined) return awaitTurn(contender, this, rule);
      if (nowOrNever) await this.#checkTurn(contender, rule);
      else await this.#untilTurn(contender, rule);
      this.turnCame();
    } catch (error) {
      await this.#fail(error, joining);
    }
  }

  /** The wait for the rule ends with the acquisition: there may be no server to ask. */
  #askRule(): TurnRule | Promise<TurnRule> {
    const rule = this.#lock.turnRule(this.#cancellation);
    return 'capacity' in rule ? rule : abortable(rule, this.#cancellation);
  }

  async #untilTurn(contender: Contender, first: TurnRule): Promise<void> {
    const onListing = () => this.onListing();
    const listeners = { onListing, ...(this.onWaiting !== undefined && { onWaiting: this.onWaiting }) };
    for (let rule = first; ; rule = await this.#askRule()) {
      const { outdated } = rule;
      const { controller, unsubscribe } = anyAbort(this.#cancellation, outdated);
      try {
        return await untilTurn(contender, { ...listeners, signal: controller }, rule);
      } catch (error) {
        if (!outdated?.aborted || error !== outdated.reason) throw error;
      } finally {
        unsubscribe();
      }
    }
  }

  /** Now or never. @throws LockTimeoutError unless it is the contender's turn */
  async #checkTurn(contender: Contender, first: TurnRule): Promise<void> {
    for (let rule = first; ; rule = await this.#askRule()) {
      const isTurn = await abortable(hasTurn(contender, rule), this.#cancellation);
      if (rule.outdated?.aborted) continue; // The rule had changed before these reads: their answer doesn't count.
      if (isTurn) return;
      throw tooLate(this.#lock, 'acquired', 0);
    }
  }

  /** @internal Sends a renewal that is due together with the listing that decides about the turn: no round trip more. */
  onListing(): void {
    const { node } = this.#contender as Contender;
    this.#renewing = undefined;
    if (node.remainingAtMostMs() >= this.#leaseToBeginWith) return;
    this.#renewing = node.renew(this.#cancellation);
    this.#renewing.catch(ignore); // Handled when the turn comes.
  }

  /** @internal Step 2: the turn has come. */
  turnCame(): void {
    // A node that is lost may have a lease left: `#hold` finds that out.
    const { node } = this.#contender as Contender;
    if (this.#renewing !== undefined || node.remainingMs() < this.#leaseToBeginWith)
      void this.#renewAndHold();
    else this.#hold();
  }

  /** @internal The turn won't come. */
  turnFailed(reason: unknown): void {
    void this.#fail(reason); // Never rejects.
  }

  /** Step 3, if too little is left of the lease. Never rejects. */
  async #renewAndHold(): Promise<void> {
    const { node } = this.#contender as Contender;
    try {
      if (this.#renewing !== undefined) await this.#renewing;
      if (node.remainingMs() < this.#leaseToBeginWith) await node.renew(this.#cancellation);
      this.#hold();
    } catch (error) {
      await this.#fail(error);
    }
  }

  /** The last step: it is the contender's turn, with enough of a lease. */
  #hold(): void {
    const { session, identity, mode, options } = this.#lock;
    const contender = this.#contender as Contender;
    try {
      contender.node.lost.throwIfAborted();
      this.#cancellation.throwIfAborted();
      const { onRevoke } = options;
      const onRequest = onRevoke === undefined ? undefined : () => onRevoke(hold);
      const hold: GrantHold = new GrantHold(new LockGrant(contender, session, identity, onRequest), mode);
      this.#resolve(hold);
      this.#cleanUp();
    } catch (error) {
      this.turnFailed(error);
    }
  }

  /** Leaves the queue, also if the node is only being created. Never rejects. */
  async #fail(reason: unknown, joining?: Promise<Contender>): Promise<void> {
    const leaving = this.#contender?.leave() ?? (joining && withdraw(joining));
    if (leaving !== undefined) await this.#leftOrUnreachable(leaving);
    this.#reject(reason);
    this.#cleanUp();
  }

  /** Before the call rejects, its node is gone, if a server can be reached: the caller may look at once. */
  async #leftOrUnreachable(leaving: Promise<void>): Promise<void> {
    const { clock, leaseMs, state } = this.#lock.session;
    if (state.name === 'connected') await settledWithin(clock, leaving, leaseMs);
    else void leaving; // Never rejects, and goes on until a server can be reached or the session is over.
  }

  /** With less of a lease than this no hold begins, in milliseconds. */
  get #leaseToBeginWith(): number {
    return this.#lock.session.leaseMs / 2;
  }

  #cleanUp(): void {
    // The caller goes on first.
    nextTick(() => {
      this.#timer?.clear();
      this.#userSignal?.removeEventListener('abort', this);
      this.#cancellation.abort(ACQUISITION_OVER); // Ends what is left, as the watch on a semaphore's seats.
    });
  }
}
