import { mark } from '../classes/duplicate-install.js';
import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort.js';
import { checkSeats } from '../platform/checks.js';
import type { Session } from '../session/session.js';
import type { LockOptions } from './lock.js';
import { Seats } from './queue/seats.js';
import type { TurnRule } from './queue/turn-rule.js';
import { QueueLock } from './queue-lock.js';

/** Interrupts the wait for a seat, to ask anew how many there are. Callers never see it. */
class Resized extends Error {}

/**
 * A lock that as many contenders may hold at once as it has seats. They are served in the order in which they joined, and
 * whichever holder leaves lets the next contender in.
 *
 * The number of seats is written at the path, so that all processes use the same: one that was given another number is
 * refused with `SeatsMismatchError`. `resize` changes it for all, waiting contenders and holders included; a process that
 * is started afterwards has to be given the new number.
 *
 * Guaranteed: at the servers at most `seats` nodes are first in the queue. For all else see {@link DistributedLock}.
 *
 * @example
 * ```ts
 * const uploads = new Semaphore(session, '/semaphores/uploads', 5);
 * await uploads.using(() => upload(file));
 * ```
 */
export class Semaphore extends QueueLock {
  readonly #seats: Seats;

  /** @throws InvalidOptionError if the path, the number of seats or an option is wrong */
  constructor(session: Session, path: string, seats: number, options?: LockOptions) {
    super(session, path, options);
    this.#seats = new Seats(session, path, checkSeats('seats', seats), { access: options?.access });
  }

  /**
   * The number of seats, as all processes agree.
   *
   * @throws SeatsMismatchError if this process was given another number, what ended the session, or a `ZooKeeperError`
   *   if a server refuses
   */
  async seats(): Promise<number> {
    return await this.#seats.agree();
  }

  /**
   * Changes the number of seats for all processes. With more seats, waiting contenders get in at once. With fewer, the
   * holders keep theirs, and no contender gets in until enough of them have left.
   *
   * @throws InvalidOptionError if it isn't a number of seats, and what `seats` throws
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
