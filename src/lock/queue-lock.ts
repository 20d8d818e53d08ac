import { type Abortable, Ending, onAbort } from '../ending.js';
import { InvalidOptionError, LockTimeoutError, NoNodeError } from '../errors.js';
import { checkInstance, checkPath } from '../options.js';
import { abortable, endingWith, ignore, settledWithin } from '../promises.js';
import { Session } from '../session/session.js';
import type { Admission } from './admission.js';
import { inOrderOfAge } from './age.js';
import { Contender, type WaitOptions, withdraw } from './contender.js';
import { HeldPlace, type Mode, REVOKE } from './held-place.js';
import {
  type AcquireOptions,
  checkAcquireOptions,
  checkRevokeOptions,
  type Lock,
  type LockOptions,
  type QueuedContender,
  type ResolvedLockOptions,
  type RevokeOptions,
  resolveLockOptions,
} from './lock.js';
import { type LockHold, PlaceHold } from './lock-hold.js';
import { type EntryParser, lockEntryParser, type Purpose } from './order.js';
import { heldAround, runUnder } from './reentrancy.js';
import { untilGone } from './vigil.js';

/** The reason with which what an acquire has left behind is ended. Never seen outside. */
const DONE = new Error('nobody waits for it any more');

/** What one kind of lock is, beyond the queue. */
export interface LockKind {
  /** What its contenders come for. */
  readonly purpose: Purpose;
  /** How it is held. */
  readonly mode: Mode;
  /** What `using` is reentrant for: the lock itself, unless two locks are two sides of one. */
  readonly identity: object;
}

/**
 * A lock made of the queue. What makes it this lock or that one is in two answers: who must be gone before a contender
 * holds, and what a piece of work that holds already is given.
 */
export abstract class QueueLock implements Lock {
  readonly path: string;
  /** @internal */
  readonly session: Session;
  readonly #options: ResolvedLockOptions;
  readonly #kind: LockKind;
  readonly #parse: EntryParser;

  /** @throws InvalidOptionError if the path or an option is wrong */
  constructor(
    session: Session,
    path: string,
    options: LockOptions | undefined,
    kind: Partial<LockKind> = {},
  ) {
    this.session = checkInstance('session', session, Session);
    this.path = checkPath('path', path);
    this.#options = resolveLockOptions(options);
    this.#kind = { purpose: 'lock', mode: 'alone', identity: this, ...kind };
    this.#parse = lockEntryParser(this.#options.extraLockPatterns);
  }

  /**
   * Who must be gone before a contender holds. Asked before it joins, and again when the answer is outdated.
   *
   * @param signal - aborts when the answer is of no interest any more
   */
  protected abstract admission(signal: Abortable): Admission | Promise<Admission>;

  /** For work that is done under this lock and asks for it again. */
  protected share(place: HeldPlace): PlaceHold {
    return this.#hold(place);
  }

  /**
   * Waits for the lock, in the order of asking. Within the work of `using` it gives a further hold, at once: the lock is
   * given up when the last one is released. A call that fails leaves nothing in the queue: at once while a server can be
   * reached, else as soon as one can be.
   *
   * @throws InvalidOptionError if an option is wrong
   * @throws LockTimeoutError after `timeoutMs`
   * @throws LockLostError within the work of `using`, if that lock is lost
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   * @throws NodeLostError if somebody deletes the contender's node
   * @throws the signal's reason, or a `ZooKeeperError` if a server refuses
   */
  acquire(options?: AcquireOptions): Promise<LockHold> {
    try {
      return this.take(checkAcquireOptions(options)); // Not awaited: while it waits, nothing of this call need be kept.
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Takes the lock if nobody holds it or waits for it; else `undefined`, with nothing left in the queue. Also
   * `undefined` if no server answers within a lease.
   *
   * @throws SessionExpiredError, SessionClosedError, LockLostError as `acquire` does, or a `ZooKeeperError` if a server
   *   refuses
   */
  async tryAcquire(): Promise<LockHold | undefined> {
    try {
      return await this.take({ timeoutMs: 0 });
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    }
  }

  /**
   * Acquires the lock, does `work`, and gives the lock up when the work has settled. Reentrant: within the work, and in
   * whatever that calls or begins, this same lock object is held already. The lock is given up when all of that has ended.
   *
   * Not guaranteed: that the lock is held until the work ends. It ends early when it is lost; then `hold.signal` aborts,
   * and the work goes on: so check `hold.isHeld()` right before acting, and fence with `hold.token`.
   *
   * @returns what the work returns
   * @throws what the work throws, and what `acquire` does
   */
  async using<T>(work: (hold: LockHold) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    if (typeof work !== 'function') throw new InvalidOptionError('work', work, 'a function');
    const hold = await this.take(checkAcquireOptions(options));
    try {
      return await runUnder([hold.place], () => work(hold));
    } finally {
      await hold.release();
    }
  }

  /** @throws what ended the session, or a `ZooKeeperError` if a server refuses */
  async contenders(): Promise<QueuedContender[]> {
    try {
      const children = await this.session.untilAnswered(() => this.session.getChildren(this.path));
      const queue = await inOrderOfAge(this.session, this.path, children, this.#parse);
      return queue.map((entry, position) => ({ ...entry, position }));
    } catch (error) {
      if (error instanceof NoNodeError) return [];
      throw error;
    }
  }

  /**
   * Asks a contender, by default the first in the queue, to give its place up. Resolves with it when its node is gone, for
   * whatever reason; with `undefined` if there is nobody to ask. One that has no `onRevoke` does nothing about it.
   *
   * The request is the one of Curator's Revoker: it takes the place of what the node says.
   *
   * @throws LockTimeoutError if it is still there after `timeoutMs`
   * @throws InvalidOptionError if an option is wrong, what ended the session, the signal's reason, or a `ZooKeeperError`
   *   if the server doesn't let this session ask
   */
  async revoke(options?: RevokeOptions): Promise<QueuedContender | undefined> {
    const { node, timeoutMs, signal } = checkRevokeOptions(options);
    signal?.throwIfAborted();
    const { session } = this;
    const { giveUp, done } = this.#patience('given up', timeoutMs, signal);
    try {
      const contenders = await abortable(this.contenders(), giveUp);
      const asked = contenders.find((each) => node === undefined || each.node === node);
      if (asked === undefined) return undefined;
      const path = `${this.path}/${asked.node}`;
      try {
        await session.untilAnswered(() => session.setData(path, REVOKE), giveUp);
        await untilGone(session, path, giveUp);
      } catch (error) {
        if (!(error instanceof NoNodeError)) throw error;
      }
      return asked;
    } finally {
      done();
    }
  }

  /** @internal As `acquire`, with options that were checked. */
  async take({ timeoutMs, signal, onWaiting }: AcquireOptions): Promise<PlaceHold> {
    signal?.throwIfAborted();
    const place = heldAround(this.#kind.identity);
    if (place !== undefined) {
      const hold = this.share(place);
      hold.assertHeld(); // Its lease may be over, and nobody has noticed yet.
      return hold;
    }
    // "Now or never" still takes the servers' answers: no longer than a dead link needs to be found out.
    const limitMs = timeoutMs === 0 ? this.session.leaseMs : timeoutMs;
    const { giveUp, done } = this.#patience('acquired', limitMs, signal);
    let joining: Promise<Contender> | undefined;
    let renewing: Promise<void> | undefined;
    try {
      const admission = this.admission(giveUp);
      const first = 'spare' in admission ? admission : await abortable(admission, giveUp);
      giveUp.throwIfAborted();
      joining = this.#join(giveUp);
      const contender = await abortable(joining, giveUp);
      const onListing = () => {
        renewing = this.#renewInTime(contender, giveUp);
      };
      if (timeoutMs !== 0)
        await this.#untilAdmitted(contender, first, { signal: giveUp, onWaiting, onListing });
      else if (!(await this.#isAdmitted(contender, first, giveUp))) throw this.#tooLate('acquired', 0);
      if (renewing !== undefined) await renewing;
      // What is left of the lease says nothing of a node that is lost: that comes out below.
      if (contender.own.remainingMs() < this.#leaseToBeginWith) await contender.own.renew(giveUp);
      return this.#begin(contender, giveUp);
    } catch (error) {
      if (joining !== undefined) await this.#leftOrUnreachable(withdraw(joining));
      throw error;
    } finally {
      process.nextTick(done); // Whoever asked is told first.
    }
  }

  /** For how long something is tried: `giveUp` aborts after `limitMs`, or when `signal` does; not once it is done. */
  #patience(
    what: string,
    limitMs: number | undefined,
    signal: AbortSignal | undefined,
  ): { giveUp: Ending; done(): void } {
    const giveUp = new Ending();
    const forget = signal === undefined ? ignore : onAbort(signal, () => giveUp.abort(signal.reason));
    const timer =
      limitMs === undefined
        ? undefined
        : this.session.clock.after(limitMs, () => giveUp.abort(this.#tooLate(what, limitMs)));
    return {
      giveUp,
      done: () => {
        timer?.clear();
        forget();
        giveUp.abort(DONE); // Ends what has been left behind: a watch, say.
      },
    };
  }

  /** Takes a place in the queue. */
  #join(giveUp: Ending): Promise<Contender> {
    const { data, access } = this.#options;
    return Contender.join(this.session, this.path, {
      ...(data !== undefined && { data }),
      access,
      purpose: this.#kind.purpose,
      parse: this.#parse,
      signal: giveUp,
    });
  }

  /** Where the answer stays true, the turn is all that there is to wait for. */
  #untilAdmitted(
    contender: Contender,
    first: Admission,
    wait: WaitOptions & { signal: Ending },
  ): Promise<void> {
    return first.outdated === undefined
      ? contender.untilTurn(wait, first)
      : this.#untilAdmittedAnew(contender, first, wait);
  }

  async #untilAdmittedAnew(contender: Contender, first: Admission, wait: WaitOptions & { signal: Ending }) {
    for (let admission = first; ; admission = await this.#ask(wait.signal)) {
      const { outdated } = admission;
      const either = outdated === undefined ? undefined : endingWith(wait.signal, outdated);
      try {
        return await contender.untilTurn({ ...wait, signal: either?.ending ?? wait.signal }, admission);
      } catch (error) {
        if (!outdated?.aborted || error !== outdated.reason) throw error;
      } finally {
        either?.forget();
      }
    }
  }

  /** Not waited for any longer than somebody waits for the lock: there may be no server to ask. */
  async #ask(giveUp: Ending): Promise<Admission> {
    const admission = this.admission(giveUp);
    return 'spare' in admission ? admission : await abortable(admission, giveUp);
  }

  /** Now or never. */
  async #isAdmitted(contender: Contender, first: Admission, giveUp: Ending): Promise<boolean> {
    for (let admission = first; ; admission = await this.#ask(giveUp)) {
      const admitted = await abortable(contender.hasTurn(admission), giveUp);
      // Told of before what was read here: the answer is one to a question that nobody asks any more.
      if (!admission.outdated?.aborted) return admitted;
    }
  }

  /** Together with the listing that shows whether it is its turn: what is asked now is answered right after. */
  #renewInTime(contender: Contender, giveUp: Ending): Promise<void> | undefined {
    if (contender.own.remainingAtMostMs() >= this.#leaseToBeginWith) return undefined;
    const renewing = contender.own.renew(giveUp);
    renewing.catch(ignore); // Seen when it is its turn.
    return renewing;
  }

  /** Nobody is in the way, and there is a lease to act on. */
  #begin(contender: Contender, giveUp: Ending): PlaceHold {
    contender.own.lost.throwIfAborted();
    giveUp.throwIfAborted();
    const { onRevoke } = this.#options;
    const asked = onRevoke === undefined ? undefined : () => onRevoke(hold);
    const place = new HeldPlace(contender, this.session, this.#kind.identity, asked);
    const hold = this.#hold(place);
    return hold;
  }

  /** With less than that nobody begins to hold, in milliseconds. */
  get #leaseToBeginWith(): number {
    return this.session.leaseMs / 2;
  }

  #hold(place: HeldPlace): PlaceHold {
    return new PlaceHold(place, this.#kind.mode);
  }

  /** The caller may look at once whether anything is left: nothing is, if a server can be reached. */
  async #leftOrUnreachable(leaving: Promise<unknown>): Promise<void> {
    const { clock, leaseMs, state } = this.session;
    if (state.name === 'connected') await settledWithin(clock, leaving, leaseMs);
    else void leaving; // Never rejects, and goes on until a server can be reached or the session is over.
  }

  #tooLate(what: string, timeoutMs: number): LockTimeoutError {
    return new LockTimeoutError(`${this.path} was not ${what} within ${timeoutMs} ms`);
  }
}
