import { mark } from '../classes/copies.js';
import { showAs } from '../classes/inspection.js';
import { InvalidOptionError, LockTimeoutError, NoNodeError } from '../errors.js';
import type { Abortable } from '../platform/async/lazy-abort.js';
import { abortable, anyAbort } from '../platform/async/promises.js';
import { checkInstance, checkPath } from '../platform/checks.js';
import { Session } from '../session/session.js';
import { Acquisition, type LockKind, tooLate } from './acquisition.js';
import { type LockGrant, type Mode, REVOKE } from './grant.js';
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
import { GrantHold, type LockHold } from './lock-hold.js';
import { type EntryParser, lockEntryParser, type Purpose } from './queue/order.js';
import { untilGone } from './queue/predecessor-watch.js';
import { inCreationOrder } from './queue/sequence-overflow.js';
import type { TurnRule } from './queue/turn-rule.js';
import { heldAround, runUnder } from './reentrancy.js';

/**
 * A lock made of the queue. What makes it this lock or that one is in two answers: who must be gone before a contender
 * holds, and what a piece of work that holds already is given.
 */
export abstract class QueueLock implements Lock {
  readonly path: string;
  /** @internal */
  readonly session: Session;
  /** @internal */
  readonly options: ResolvedLockOptions;
  /** @internal */
  readonly purpose: Purpose;
  /** @internal */
  readonly mode: Mode;
  /** @internal */
  readonly identity: object;
  /** @internal */
  readonly parse: EntryParser;

  /** @throws InvalidOptionError if the path or an option is wrong */
  constructor(
    session: Session,
    path: string,
    options: LockOptions | undefined,
    kind: Partial<LockKind> = {},
  ) {
    this.session = checkInstance('session', session, Session);
    this.path = checkPath('path', path);
    this.options = resolveLockOptions(options);
    this.purpose = kind.purpose ?? 'lock';
    this.mode = kind.mode ?? 'alone';
    this.identity = kind.identity ?? this;
    this.parse = lockEntryParser(this.options.extraLockPatterns);
  }

  /**
   * @internal Who must be gone before a contender holds. Asked before it joins, and again when the answer is outdated.
   *
   * @param signal - aborts when the answer is of no interest any more
   */
  abstract admission(signal: Abortable): TurnRule | Promise<TurnRule>;

  /** @internal For work that is done under this lock and asks for it again. */
  protected share(place: LockGrant): GrantHold {
    return new GrantHold(place, this.mode);
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
      const children = await this.session.retryUntilAnswered(() => this.session.getChildren(this.path));
      const queue = await inCreationOrder(this.session, this.path, children, this.parse);
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
    const { controller: giveUp, unsubscribe } = anyAbort(signal);
    const timer =
      timeoutMs === undefined
        ? undefined
        : session.clock.after(timeoutMs, () => giveUp.abort(tooLate(this, 'given up', timeoutMs)));
    try {
      const contenders = await abortable(this.contenders(), giveUp);
      for (const asked of contenders) {
        if (node !== undefined && asked.node !== node) continue;
        if (await this.#revoke(`${this.path}/${asked.node}`, giveUp)) return asked;
      }
      return undefined;
    } finally {
      timer?.clear();
      unsubscribe();
    }
  }

  /** `false`: that node is no contender's. */
  async #revoke(path: string, giveUp: Abortable): Promise<boolean> {
    const { session } = this;
    const { ownerless } = session.guard;
    try {
      const stat = await session.retryUntilAnswered(() => session.exists(path), giveUp);
      if (stat !== undefined && ownerless.isOne(path, stat)) return false;
      await session.retryUntilAnswered(() => session.setData(path, REVOKE), giveUp);
      await untilGone(session, path, giveUp);
    } catch (error) {
      if (!(error instanceof NoNodeError)) throw error;
    }
    return true;
  }

  /** @internal As `acquire`, with options that were checked. @throws the signal's reason if it has aborted */
  take(options: AcquireOptions): Promise<GrantHold> {
    options.signal?.throwIfAborted();
    const place = heldAround(this.identity);
    if (place === undefined) return Acquisition.begin(this, options);
    const hold = this.share(place);
    hold.assertHeld(); // Its lease may be over, and nobody has noticed yet.
    return Promise.resolve(hold);
  }
}

mark(QueueLock, 'QueueLock');
showAs(QueueLock, ({ path }) => ({ path }));
