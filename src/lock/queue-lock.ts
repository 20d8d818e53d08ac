import { InvalidOptionError, LockTimeoutError, NoNodeError } from '../errors.js';
import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import { abortable, anyAbort } from '../platform/async/promises.js';
import { checkInstance, checkPath } from '../platform/checks.js';
import { mark } from '../public-class/instance-brand.js';
import { showAs } from '../public-class/shown-in-console.js';
import { type EntryParser, lockEntryParser, type Purpose } from '../queue/names-and-order.js';
import { inCreationOrder } from '../queue/order-after-overflow.js';
import { isOwnerless } from '../queue/ownerless-contenders.js';
import { untilGone } from '../queue/predecessor-watch.js';
import type { TurnRule } from '../queue/turn-rule.js';
import { Session } from '../session/session.js';
import { Acquisition, type LockKind } from './acquisition.js';
import { GrantHold, type LockHold } from './lock-hold.js';
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
  tooLate,
} from './lock-interface.js';
import { heldAround, type Mode, REVOKE, type ReentrantGrant, runUnder } from './reentrant-grant.js';

/**
 * A lock that is built on a queue of contenders. The kinds of locks differ in two points: which contenders must be gone before
 * another one holds, and which hold a piece of work gets if it asks for a lock that it already holds.
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
    this.mode = kind.mode ?? 'exclusive';
    this.identity = kind.identity ?? this;
    this.parse = lockEntryParser(this.options.extraLockPatterns);
  }

  /**
   * @internal The rule for the turns. Called before a contender joins, and again when the rule is outdated. `signal` aborts when
   *   the rule is no longer needed.
   */
  abstract turnRule(signal: Abortable): TurnRule | Promise<TurnRule>;

  /** @internal Another hold, for work that holds this lock and asks for it again. */
  protected share(grant: ReentrantGrant): GrantHold {
    return new GrantHold(grant, this.mode);
  }

  /**
   * Waits for the lock. Contenders hold it in the order of their calls. Within the work of `using` the call resolves at once with
   * another hold; the lock is released with the last of its holds.
   *
   * A call rejects at its time limit, and when its signal aborts, also while a server hangs. It doesn't wait for the deletion of its
   * node. The session deletes that node at once, or as soon as a server answers; `session.close()` deletes it, too.
   *
   * @throws InvalidOptionError if an option is wrong
   * @throws LockTimeoutError if the lock isn't acquired within `timeoutMs`
   * @throws LockLostError within the work of `using`, if its hold on the lock is lost
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   * @throws NodeLostError if another client deletes the contender's node
   * @throws UnprotectedPathError if any client could delete or write the lock's nodes; see the option `allowUnprotectedPaths` of
   *   the session
   * @throws UnreadableNodeError if the session may not read a node ahead, so that the servers would never notify it of that node's end
   * @throws SeatsMismatchError from a `Semaphore`, if this process was given another number of seats
   * @throws InvalidStateError from a write lock, within the work of the read lock
   * @throws the reason of `options.signal` if that aborts before
   * @throws ZooKeeperError if a server refuses
   */
  acquire(options?: AcquireOptions): Promise<LockHold> {
    try {
      return this.take(checkAcquireOptions(options)); // Not awaited, so that nothing of this call stays in memory during the wait.
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Acquires the lock if it is free. Otherwise resolves with `undefined`, and leaves the queue as `acquire` does. Also resolves with
   * `undefined` if no server answers within a lease.
   *
   * @throws the errors of `acquire`, except `LockTimeoutError`
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
   * Acquires the lock, runs `work`, and releases the lock when the work has settled. Reentrant: within the work, and in all that
   * it calls or begins, this same lock object is held already. The lock is released when all of that has ended.
   *
   * Not guaranteed: that the lock is held until the work ends. If it is lost before, `hold.signal` aborts, and the work goes on.
   * So check `hold.isHeld()` right before you act, and fence with `hold.token`.
   *
   * @returns the result of the work
   * @throws the error that the work throws, and the errors of `acquire`
   * @throws InvalidOptionError if `work` isn't a function
   */
  async using<T>(work: (hold: LockHold) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    if (typeof work !== 'function') throw new InvalidOptionError('work', work, 'a function');
    const hold = await this.take(checkAcquireOptions(options));
    try {
      return await runUnder([hold.grant], () => work(hold));
    } finally {
      await hold.release();
    }
  }

  /**
   * The contenders in the queue, in order; none if the lock's path doesn't exist.
   *
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   * @throws ZooKeeperError if a server refuses
   */
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
   * Asks a contender, by default the first in the queue, to release the lock. Resolves with the contender when its node is gone, for
   * whatever reason. Resolves with `undefined` if there is no contender to ask. A contender without `onRevoke` ignores the request.
   *
   * The request is the same as that of Curator's Revoker: it overwrites the data of the contender's node.
   *
   * @throws LockTimeoutError if the node still exists after `timeoutMs`
   * @throws InvalidOptionError if an option is wrong
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   * @throws the reason of `options.signal` if that aborts before
   * @throws ZooKeeperError if the server doesn't let this session write the node
   */
  async revoke(options?: RevokeOptions): Promise<QueuedContender | undefined> {
    return await revokeContender(this, options);
  }

  /** @internal As `acquire`, with options that were checked. @throws the signal's reason if it has aborted */
  take(options: AcquireOptions): Promise<GrantHold> {
    options.signal?.throwIfAborted();
    const grant = heldAround(this.identity);
    if (grant === undefined) return Acquisition.begin(this, options);
    const hold = this.share(grant);
    hold.assertHeld(); // Its lease may be over, and no code may have noticed that yet.
    return Promise.resolve(hold);
  }
}

mark(QueueLock, 'QueueLock');
showAs(QueueLock, ({ path }) => ({ path }));

/** Asks a contender of a lock to release it. @throws as {@link QueueLock.revoke} does */
export async function revokeContender(
  lock: Pick<Lock, 'path' | 'contenders'> & { readonly session: Session },
  options: RevokeOptions | undefined,
): Promise<QueuedContender | undefined> {
  const { node, timeoutMs, signal } = checkRevokeOptions(options);
  signal?.throwIfAborted();
  const { session, path } = lock;
  const { controller, unsubscribe } = anyAbort(signal);
  const timer =
    timeoutMs === undefined
      ? undefined
      : session.clock.after(timeoutMs, () => controller.abort(tooLate(lock, 'given up', timeoutMs)));
  try {
    const contenders = await abortable(lock.contenders(), controller);
    for (const contender of contenders) {
      if (node !== undefined && contender.node !== node) continue;
      if (await revoke(session, path, contender.node, controller)) return contender;
    }
    return undefined;
  } finally {
    timer?.clear();
    unsubscribe();
  }
}

/** Writes the request and waits until the node is gone. `false` if the node is ownerless, and so no contender's. */
async function revoke(session: Session, queue: string, name: string, signal: Abortable): Promise<boolean> {
  const path = `${queue}/${name}`;
  try {
    const stat = await session.retryUntilAnswered(() => session.exists(path), signal);
    if (stat !== undefined && isOwnerless(session, queue, name, stat)) return false;
    await session.retryUntilAnswered(() => session.setData(path, REVOKE), signal);
    await untilGone(session, queue, name, signal);
  } catch (error) {
    if (!(error instanceof NoNodeError)) throw error;
  }
  return true;
}
