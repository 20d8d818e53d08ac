import { InvalidOptionError, LockTimeoutError } from '../../errors.js';
import { mark } from '../../public-class/instance-brand.js';
import { showAs } from '../../public-class/shown-in-console.js';
import type { GrantHold } from '../lock-hold.js';
import { type AcquireOptions, checkAcquireOptions, type Lock } from '../lock-interface.js';
import { QueueLock } from '../queue-lock.js';
import { runUnder } from '../reentrant-grant.js';
import { MultiHold } from './multi-hold.js';

/**
 * Several locks as one: a caller holds all of them or none. They are acquired in the order of their paths, whatever the order in
 * which you give them. So two callers that want the same locks never wait for each other. If one lock can't be acquired, those
 * that were acquired are released.
 *
 * Not guaranteed: freedom from deadlock beside callers that acquire the same locks one by one, in another order. Against that,
 * give `timeoutMs` or `signal`.
 *
 * @example
 * ```ts
 * const both = new MultiLock([new DistributedLock(session, '/locks/a'), new DistributedLock(session, '/locks/b')]);
 * await both.using((hold) => transfer({ token: hold.token }), { timeoutMs: 5000 });
 * ```
 */
export class MultiLock implements Pick<Lock, 'acquire' | 'tryAcquire' | 'using'> {
  readonly #locks: readonly QueueLock[];

  /** @throws InvalidOptionError if `locks` isn't a list of locks, or if two of them have the same path in one session */
  constructor(locks: readonly (Lock | MultiLock)[]) {
    if (!Array.isArray(locks) || locks.length === 0) throw wrong(locks, 'a list of one lock or more');
    this.#locks = locks.flatMap(single).sort(byPath);
    for (const [index, lock] of this.#locks.entries()) {
      const { path, session } = lock;
      if (this.#locks.slice(0, index).some((other) => other.path === path && other.session === session))
        throw wrong(path, 'locks on different paths: the second would wait for the first forever');
    }
  }

  /** The single locks, in the order in which they are acquired. */
  get locks(): readonly QueueLock[] {
    return this.#locks;
  }

  /**
   * Waits for all of the locks.
   *
   * @throws LockTimeoutError if not all locks were acquired within `timeoutMs`, which counts for all together
   * @throws LockLostError if a lock that was acquired is lost during the wait for another one
   * @throws the other errors of `DistributedLock.acquire`
   */
  async acquire(options?: AcquireOptions): Promise<MultiHold> {
    return await this.#takeAll(checkAcquireOptions(options));
  }

  /**
   * Acquires all of the locks if all are free. Otherwise resolves with `undefined`, and leaves all queues. @throws the
   * errors of `acquire`, except `LockTimeoutError`
   */
  async tryAcquire(): Promise<MultiHold | undefined> {
    try {
      return await this.#takeAll({ timeoutMs: 0 });
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    }
  }

  /**
   * Acquires all locks, runs `work`, and releases the locks when the work has settled. Reentrant, as `DistributedLock.using` is.
   *
   * @returns the result of the work
   * @throws the error that the work throws, and the errors of `acquire`
   * @throws InvalidOptionError if `work` isn't a function
   */
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
        // If a lock that was acquired is lost, there is no use in waiting for the next one.
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
      // Not awaited, as in a single lock: a server that hangs mustn't make the call late. Never rejects.
      for (const hold of taken) void hold.release();
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

/** Gives the same order everywhere, whatever the chroots of the sessions and the language of the machine. */
function byPath(one: QueueLock, other: QueueLock): number {
  const [a, b] = [one.session.absolute(one.path), other.session.absolute(other.path)];
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function wrong(value: unknown, expected: string): InvalidOptionError {
  return new InvalidOptionError('locks', value, expected);
}
