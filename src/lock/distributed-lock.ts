import { LockTimeoutError } from '../errors.js';
import { checkFunction, checkInstance, checkMs, checkOptions, checkPath, checkSignal } from '../options.js';
import { abortable, ignore, settledWithin } from '../promises.js';
import { Session } from '../session/session.js';
import { Contender, type Place, withdraw } from './contender.js';
import { ContenderHold, type LockHold } from './lock-hold.js';

/** How to acquire a lock. */
export interface AcquireOptions {
  /** How long to wait for it, in milliseconds; 0 means "now or never". @default for ever */
  readonly timeoutMs?: number;
  /** Aborting it ends the wait: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called when there is somebody ahead, with how many and with the name of the node that is waited for. */
  readonly onWaiting?: (place: Place) => void;
}

/**
 * A fair lock among all processes that use the same path: they hold it one after the other, in the order in which
 * they asked, each with a token that is higher than those before it.
 *
 * Guaranteed: at the servers at most one node is first in the queue. Not guaranteed: that a holder whose process
 * stands still notices in time that it isn't that one any more. So check `hold.isHeld()` right before acting, and
 * fence what the lock protects with `hold.token`.
 *
 * @example
 * ```ts
 * const lock = new DistributedLock(session, '/locks/report');
 * const hold = await lock.acquire({ timeoutMs: 5000 });
 * try {
 *   hold.assertHeld();
 *   await writeReport({ token: hold.token, signal: hold.signal });
 * } finally {
 *   await hold.release();
 * }
 * ```
 */
export class DistributedLock {
  readonly path: string;
  readonly #session: Session;

  /** @throws InvalidOptionError if the path isn't one */
  constructor(session: Session, path: string) {
    this.#session = checkInstance('session', session, Session);
    this.path = checkPath('path', path);
  }

  /**
   * Waits for the lock, in the order of asking. A call that fails leaves nothing in the queue: at once while a server
   * can be reached, else as soon as one can be.
   *
   * @throws InvalidOptionError if an option is wrong
   * @throws LockTimeoutError after `timeoutMs`
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   * @throws NodeLostError if somebody deletes the contender's node
   * @throws the signal's reason, or a `ZooKeeperError` if a server refuses
   */
  async acquire(options?: AcquireOptions): Promise<LockHold> {
    const { timeoutMs, signal, onWaiting } = checkAcquireOptions(options);
    signal?.throwIfAborted();
    const tooLate = new AbortController();
    // "Now or never" still takes the servers' answers: no longer than a dead link needs to be found out.
    const limitMs = timeoutMs === 0 ? this.#session.leaseMs : timeoutMs;
    const timer =
      limitMs === undefined
        ? undefined
        : this.#session.clock.after(limitMs, () => tooLate.abort(this.#tooLate(limitMs)));
    const giveUp = signal === undefined ? tooLate.signal : AbortSignal.any([signal, tooLate.signal]);
    try {
      return await this.#contend(async (contender) => {
        if (timeoutMs !== 0) await contender.untilFirst({ signal: giveUp, onWaiting });
        else if (!(await contender.isFirst())) throw this.#tooLate(0);
        return await this.#hold(contender);
      }, giveUp);
    } finally {
      timer?.clear();
    }
  }

  /**
   * Takes the lock if nobody holds it or waits for it; else `undefined`, with nothing left in the queue. Also
   * `undefined` if no server answers within a lease.
   *
   * @throws SessionExpiredError, SessionClosedError, or a `ZooKeeperError` if a server refuses
   */
  async tryAcquire(): Promise<LockHold | undefined> {
    try {
      return await this.acquire({ timeoutMs: 0 });
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    }
  }

  /** Takes a place in the queue, waits there, and gives it up unless that led to a hold. */
  async #contend(wait: (contender: Contender) => Promise<LockHold>, giveUp: AbortSignal): Promise<LockHold> {
    const joining = Contender.join(this.#session, this.path);
    const waiting = joining.then(wait);
    try {
      return await abortable(waiting, giveUp);
    } catch (error) {
      // A hold that comes all the same, after the caller gave up, is given back.
      const left = Promise.all([withdraw(joining), waiting.then((hold) => hold.release()).catch(ignore)]);
      await this.#leftOrUnreachable(left);
      throw error;
    }
  }

  /** Nobody is ahead: what is missing is a lease, if the last proof of the node is too old to act on. */
  async #hold(contender: Contender): Promise<LockHold> {
    const { leaseMs } = this.#session;
    if (!contender.own.isCurrent() || contender.own.remainingMs() < leaseMs / 2) await contender.own.renew();
    contender.own.signal.throwIfAborted();
    return new ContenderHold(contender, this.#session.clock, leaseMs);
  }

  /** The caller may look at once whether anything is left: nothing is, if a server can be reached. */
  async #leftOrUnreachable(leaving: Promise<unknown>): Promise<void> {
    const { clock, leaseMs, state } = this.#session;
    if (state.name === 'connected') await settledWithin(clock, leaving, leaseMs);
    else void leaving; // Never rejects, and goes on until a server can be reached or the session is over.
  }

  #tooLate(timeoutMs: number): LockTimeoutError {
    return new LockTimeoutError(`${this.path} was not acquired within ${timeoutMs} ms`);
  }
}

function checkAcquireOptions(given: unknown): AcquireOptions {
  const options = checkOptions<AcquireOptions>('acquire', given, ['timeoutMs', 'signal', 'onWaiting']);
  checkMs('timeoutMs', options.timeoutMs);
  checkSignal('signal', options.signal);
  checkFunction('onWaiting', options.onWaiting);
  return options;
}
