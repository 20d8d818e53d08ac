import { mark } from '../classes/copies.js';
import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort.js';
import { checkSeats } from '../platform/checks.js';
import type { Session } from '../session/session.js';
import type { LockOptions } from './lock.js';
import { Seats } from './queue/seats.js';
import type { TurnRule } from './queue/turn-rule.js';
import { QueueLock } from './queue-lock.js';

/** With this the wait for a seat is interrupted, to ask anew how many there are. Never seen outside. */
class Resized extends Error {}

/**
 * A lock that `seats` may hold at once. Who comes first is served first, and whichever holder leaves lets the next one in.
 *
 * How many seats there are is written at the path, so that all go by the same number: one that was given another is
 * refused with `SeatsMismatchError`. `resize` changes it for everybody, also for those who wait and hold; a process that
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
   * How many seats there are, as all agree.
   *
   * @throws SeatsMismatchError if this process was given another number, what ended the session, or a `ZooKeeperError`
   *   if a server refuses
   */
  async seats(): Promise<number> {
    return await this.#seats.agree();
  }

  /**
   * Changes the number of seats for everybody. With more, those who wait get in at once; with fewer, those who hold go on,
   * and nobody gets in until enough of them have left.
   *
   * @throws InvalidOptionError if it isn't a number of seats, and what `seats` throws
   */
  async resize(seats: number): Promise<void> {
    await this.#seats.change(checkSeats('seats', seats));
  }

  /** @internal */
  override async admission(signal: Abortable): Promise<TurnRule> {
    const outdated = new LazyAbortController();
    const onChange = () => outdated.abort(new Resized());
    const seats = await this.#seats.agree({ onChange, signal });
    return { blocks: () => true, capacity: seats - 1, outdated };
  }
}

mark(Semaphore, 'Semaphore');
