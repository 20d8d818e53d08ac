import { mark } from '../classes/duplicate-install.js';
import { showAs } from '../classes/inspection.js';
import { InvalidOptionError, LockTimeoutError } from '../errors.js';
import { type AcquireOptions, checkAcquireOptions, type Lock } from './lock.js';
import type { GrantHold } from './lock-hold.js';
import { MultiHold } from './multi-hold.js';
import { QueueLock } from './queue-lock.js';
import { runUnder } from './reentrancy.js';

/** Several locks that are held all together or not at all. */
export type Locks = readonly (Lock | MultiLock)[];

/**
 * Several locks as one: all are held, or none. They are acquired in the order of their paths, whatever the order in which
 * they are given, so two callers that want the same locks never wait for each other. When one lock can't be acquired,
 * those that were acquired are released.
 *
 * Not guaranteed: freedom from deadlock beside callers that acquire the same locks one by one, in another order.
 * `timeoutMs` and `signal` are the way out.
 *
 * @example
 * ```ts
 * const both = new MultiLock([new DistributedLock(session, '/locks/a'), new DistributedLock(session, '/locks/b')]);
 * await both.using((hold) => transfer({ token: hold.token }), { timeoutMs: 5000 });
 * ```
 */
export class MultiLock implements Pick<Lock, 'acquire' | 'tryAcquire' | 'using'> {
  readonly #locks: readonly QueueLock[];

  /** @throws InvalidOptionError if it isn't a list of locks, or if two of them are on the same path of a session */
  constructor(locks: Locks) {
    if (!Array.isArray(locks) || locks.length === 0) throw wrong(locks, 'a list of one lock or more');
    this.#locks = (locks as Locks).flatMap(single).sort(byPath);
    for (const [index, lock] of this.#locks.entries()) {
      const { path, session } = lock;
      if (this.#locks.slice(0, index).some((other) => other.path === path && other.session === session))
        throw wrong(path, 'locks on different paths: the second would wait for the first for ever');
    }
  }

  /** The single locks, in the order in which they are acquired. */
  get locks(): readonly QueueLock[] {
    return this.#locks;
  }

  /**
   * Waits for all of the locks.
   *
   * @throws LockTimeoutError after `timeoutMs`, which counts for all together
   * @throws LockLostError if a lock that was acquired is lost while another one is waited for
   * @throws as `DistributedLock.acquire` does
   */
  async acquire(options?: AcquireOptions): Promise<MultiHold> {
    return await this.#takeAll(checkAcquireOptions(options));
  }

  /** Acquires all of the locks if all are free; else `undefined`, with nothing left in any queue. @throws as `acquire` does */
  async tryAcquire(): Promise<MultiHold | undefined> {
    try {
      return await this.#takeAll({ timeoutMs: 0 });
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    }
  }

  /** Runs `work` while all locks are held, and releases them when it has settled. Reentrant, as `DistributedLock.using` is. */
  async using<T>(work: (hold: MultiHold) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    if (typeof work !== 'function') throw new InvalidOptionError('work', work, 'a function');
    const hold = await this.acquire(options);
    try {
      return await runUnder(hold.grants, () => work(hold));
    } finally {
      await hold.release();
    }
  }

  async #takeAll({ timeoutMs, signal, onWaiting }: AcquireOptions): Promise<MultiHold> {
    const clock = (this.#locks[0] as QueueLock).session.clock;
    const deadline = clock.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
    const taken: GrantHold[] = [];
    try {
      for (const lock of this.#locks) {
        const leftMs = timeoutMs === 0 ? 0 : deadline - clock.now();
        if (leftMs <= 0 && timeoutMs !== 0) throw new LockTimeoutError(this.#tooLate(timeoutMs));
        // When a lock that was acquired is lost, waiting for the next one is of no use.
        const signals = [...(signal === undefined ? [] : [signal]), ...taken.map((hold) => hold.signal)];
        const rest = {
          ...(timeoutMs !== undefined && { timeoutMs: leftMs }),
          ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
          ...(onWaiting !== undefined && { onWaiting }),
        };
        taken.push(await lock.take(rest));
      }
      return new MultiHold(taken);
    } catch (error) {
      await Promise.all(taken.map((hold) => hold.release()));
      const late = error instanceof LockTimeoutError && timeoutMs !== undefined;
      throw late ? new LockTimeoutError(this.#tooLate(timeoutMs), { cause: error }) : error;
    }
  }

  #tooLate(timeoutMs: number | undefined): string {
    return `${this.#locks.map(({ path }) => path).join(', ')} were not all acquired within ${timeoutMs} ms`;
  }
}

mark(MultiLock, 'MultiLock');
showAs(MultiLock, ({ locks }) => ({ locks }));

function single(lock: Lock | MultiLock): readonly QueueLock[] {
  if (lock instanceof MultiLock) return lock.locks;
  if (lock instanceof QueueLock) return [lock];
  throw wrong(lock, 'a DistributedLock, a lock of a ReadWriteLock, a Semaphore or a MultiLock');
}

/** The same everywhere, whatever the chroots of the sessions and the language of the machine. */
function byPath(one: QueueLock, other: QueueLock): number {
  const [a, b] = [one.session.absolute(one.path), other.session.absolute(other.path)];
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function wrong(value: unknown, expected: string): InvalidOptionError {
  return new InvalidOptionError('locks', value, expected);
}
