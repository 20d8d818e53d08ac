import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort-controller.js';
import { checkSeats } from '../platform/checks.js';
import { mark } from '../public-class/instance-brand.js';
import { AgreedSeats } from '../queue/agreed-seats.js';
import type { TurnRule } from '../queue/turn-rule.js';
import type { Session } from '../session/session.js';
import type { LockOptions } from './lock-interface.js';
import { QueueLock } from './queue-lock.js';

/** Interrupts the wait for a seat, to read the number of seats again. Callers never see it. */
class Resized extends Error {}

/**
 * A lock with several seats: that many contenders may hold it at once. They get a seat in the order in which
 * they joined. When any holder leaves, the next contender gets its seat.
 *
 * The number of seats is stored at the path, so that all processes use the same number. If you give a process another number, its
 * calls reject with `SeatsMismatchError`. `resize` changes the number for all, including waiting contenders and holders. Give the
 * new number to each process that you start afterwards.
 *
 * Guaranteed: at the servers at most `seats` nodes are first in the queue. The other guarantees are those of {@link DistributedLock}.
 *
 * @example
 * ```ts
 * const uploads = new Semaphore(session, '/semaphores/uploads', 5);
 * await uploads.using(() => upload(file));
 * ```
 */
export class Semaphore extends QueueLock {
  readonly #seats: AgreedSeats;

  /** @throws InvalidOptionError if the path, the number of seats or an option is wrong */
  constructor(session: Session, path: string, seats: number, options?: LockOptions) {
    super(session, path, options);
    this.#seats = new AgreedSeats(session, path, checkSeats('seats', seats), options?.access);
  }

  /**
   * The number of seats on which all processes agree.
   *
   * @throws SeatsMismatchError if this process was given another number
   * @throws UnprotectedPathError if any client could delete or write the path's node; see the option `allowUnprotectedPaths` of the session
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   * @throws ZooKeeperError if a server refuses
   */
  async seats(): Promise<number> {
    return await this.#seats.agree();
  }

  /**
   * Changes the number of seats for all processes. With more seats, waiting contenders get in at once. With fewer, the holders
   * keep their seats, and no contender gets in until enough of them have left.
   *
   * @throws InvalidOptionError if `seats` isn't a whole number from 1 to 10000
   * @throws the errors of {@link Semaphore.seats}
   */
  async resize(seats: number): Promise<void> {
    await this.#seats.change(checkSeats('seats', seats));
  }

  /** @internal */
  override async turnRule(signal: Abortable): Promise<TurnRule> {
    const outdated = new LazyAbortController();
    const onChange = () => outdated.abort(new Resized());
    const seats = await this.#seats.agree({ onChange, signal });
    return { blocks: () => true, capacity: seats - 1, outdated };
  }
}

mark(Semaphore, 'Semaphore');
