import { mark } from '../classes/duplicate-install.js';
import { showAs } from '../classes/inspection.js';
import { InvalidOptionError, LockTimeoutError, NoNodeError } from '../errors.js';
import type { Abortable } from '../platform/async/lazy-abort.js';
import { checkInstance, checkPath } from '../platform/checks.js';
import { Session } from '../session/session.js';
import { Acquisition, type LockKind } from './acquisition.js';
import type { LockGrant, Mode } from './grant.js';
import {
  type AcquireOptions,
  checkAcquireOptions,
  type Lock,
  type LockOptions,
  type QueuedContender,
  type ResolvedLockOptions,
  type RevokeOptions,
  resolveLockOptions,
} from './lock.js';
import { GrantHold, type LockHold } from './lock-hold.js';
import { type EntryParser, lockEntryParser, type Purpose } from './queue/order.js';
import { inCreationOrder } from './queue/sequence-overflow.js';
import type { TurnRule } from './queue/turn-rule.js';
import { heldAround, runUnder } from './reentrancy.js';
import { revokeContender } from './revoke-contender.js';

/**
 * A lock made of the queue. Its kinds differ in two answers: which contenders must be gone before another one holds, and
 * which hold a piece of work gets that holds the lock already.
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

  /** @internal Asked before a contender joins, and again when the rule is outdated. `signal` aborts when no rule is needed. */
  abstract turnRule(signal: Abortable): TurnRule | Promise<TurnRule>;

  /** @internal A further hold, for work that holds this lock and asks for it again. */
  protected share(grant: LockGrant): GrantHold {
    return new GrantHold(grant, this.mode);
  }

  /**
   * Waits for the lock, in the order of the calls. Within the work of `using` it resolves at once, with a further hold: the
   * lock is released when the last of its holds is. A call that fails leaves nothing in the queue: its node is deleted at
   * once if a server can be reached, else as soon as one can be.
   *
   * @throws InvalidOptionError if an option is wrong
   * @throws LockTimeoutError after `timeoutMs`
   * @throws LockLostError within the work of `using`, if that lock is lost
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   * @throws NodeLostError if another client deletes the contender's node
   * @throws the signal's reason, or a `ZooKeeperError` if a server refuses
   */
  acquire(options?: AcquireOptions): Promise<LockHold> {
    try {
      return this.take(checkAcquireOptions(options)); // Not awaited: during the wait, nothing of this call is kept.
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Acquires the lock if that takes no waiting; else `undefined`, with nothing left in the queue. Also `undefined` if no
   * server answers within a lease.
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
   * Acquires the lock, runs `work`, and releases the lock when the work has settled. Reentrant: within the work, and in all
   * that it calls or begins, this same lock object is held already. The lock is released when all of that has ended.
   *
   * Not guaranteed: that the lock is held until the work ends. It may be lost before; then `hold.signal` aborts, and the
   * work goes on: so check `hold.isHeld()` right before acting, and fence with `hold.token`.
   *
   * @returns what the work returns
   * @throws what the work throws, and what `acquire` does
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
   * Asks a contender, by default the first in the queue, to release the lock. Resolves with the contender when its node is
   * gone, for whatever reason; with `undefined` if there is none to ask. A contender without `onRevoke` ignores the request.
   *
   * The request is that of Curator's Revoker: it overwrites the node's data.
   *
   * @throws LockTimeoutError if the node still exists after `timeoutMs`
   * @throws InvalidOptionError if an option is wrong, what ended the session, the signal's reason, or a `ZooKeeperError`
   *   if the server doesn't let this session ask
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
    hold.assertHeld(); // Its lease may be over without having been noticed yet.
    return Promise.resolve(hold);
  }
}

mark(QueueLock, 'QueueLock');
showAs(QueueLock, ({ path }) => ({ path }));
