import { NodeExistsError, NoNodeError, SeatsMismatchError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { parseSeats, Seats } from '../../lock/queue/seats.js';
import type { Abortable } from '../../platform/async/lazy-abort.js';
import { abortable, anyAbort, ignore } from '../../platform/async/promises.js';
import { sleep } from '../../platform/time/clock.js';
import type { NodeData } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import { parseRecord, recordPath } from '../nodes/record.js';
import type { Claim } from './claim.js';
import { type Blocked, Claimant, type Claims, type RetryAfter } from './claimant.js';

/** The claims of one candidate, whatever the number of seats. */
export function claimsOf(
  session: Session,
  path: string,
  id: string,
  { seats, takeoverDelayMs }: { readonly seats: number; readonly takeoverDelayMs: number | undefined },
): Claims {
  if (seats === 1) return new Claimant(session, path, id, takeoverDelayMs);
  return new SeatClaimant(session, path, id, takeoverDelayMs, seats);
}

/** Not a record, so the candidate that finds it waits as after an unclean end. */
const DELETED_RECORD = Buffer.from('{"state":"deleted"}');

/**
 * The claims of one candidate in an election with several seats: each seat has a record of its own, and with it terms,
 * tokens and takeover delays, as if it were an election. A seat's record that was deleted, with the whole election for
 * example, counts as held. The queue is common: a contender that has fewer ahead of it than there are seats takes the first
 * seat that it can. At any time no more contenders may take a seat than there are seats, each of them at most one: so each
 * finds a seat, or one whose leader is gone.
 */
export class SeatClaimant implements Claims {
  readonly #session: Session;
  readonly #path: string;
  readonly #seats: Seats;
  /** One for each seat. */
  readonly #claimants: readonly Claimant[];

  constructor(session: Session, path: string, id: string, delayMs: number | undefined, seats: number) {
    this.#session = session;
    this.#path = path;
    this.#seats = new Seats(session, path, seats, {
      parse: seatsOfElection,
      // Before the number of seats is written: so a record that is missing later was there, and was deleted.
      prepare: async () =>
        void (await Promise.all(this.#records.map((record) => session.ensurePath(record)))),
    });
    this.#claimants = Array.from(
      { length: seats },
      (_, seat) => new Claimant(session, path, id, delayMs, seat),
    );
  }

  async prepare(): Promise<undefined> {
    const seats = this.#claimants.length;
    const agreed = await this.#seats.agree();
    // A semaphore follows when the number is changed. Here it is for good: the election was made anew, or tampered with.
    if (agreed !== seats) throw new SeatsMismatchError(this.#path, seats, agreed);
    // Any client that may create children may have made them first.
    await Promise.all(this.#records.map((record) => this.#session.guard.checkRecord(record)));
  }

  notePlaceLost(): void {
    for (const claimant of this.#claimants) claimant.notePlaceLost();
  }

  async readAhead(): Promise<undefined> {
    return undefined;
  }

  /** It isn't known before which seat will be free. */
  async predictRecord(): Promise<undefined> {
    return undefined;
  }

  async claim(contender: Contender, _turn: unknown, signal: Abortable): Promise<Claim> {
    for (;;) {
      const outcomes: (Blocked | RetryAfter)[] = [];
      // One after the other: a claim whose outcome isn't known must not be followed by another one.
      for (const seat of this.#claimants.keys()) {
        const outcome = await this.#claimSeat(seat, contender, signal);
        if ('token' in outcome) return outcome;
        outcomes.push(outcome);
      }
      await this.#untilOneMayBeFree(contender, outcomes, signal);
    }
  }

  async release(contender: Contender, claim: Claim): Promise<void> {
    await (this.#claimants[claim.seat] as Claimant).release(contender, claim);
  }

  async #claimSeat(
    seat: number,
    contender: Contender,
    signal: Abortable,
  ): Promise<Claim | Blocked | RetryAfter> {
    const claimant = this.#claimants[seat] as Claimant;
    for (;;) {
      try {
        // No contender is nominated out of turn: all seats are alike.
        return await claimant.claimUnlessEarly(contender, { outOfTurn: true }, signal);
      } catch (error) {
        if (!(error instanceof NoNodeError)) throw error;
        await abortable(this.#restore(seat), signal, contender.node.lost);
      }
    }
  }

  get #records(): string[] {
    return this.#claimants.map((_, seat) => recordPath(this.#path, seat));
  }

  /** Its leader may still act: so the record isn't made as that of a seat without a term so far. */
  async #restore(seat: number): Promise<void> {
    const path = recordPath(this.#path, seat);
    try {
      await this.#session.retryUntilAnswered(() => this.#session.create(path, { data: DELETED_RECORD }));
    } catch (error) {
      if (!(error instanceof NodeExistsError)) throw error;
      await this.#session.guard.checkRecord(path);
    }
  }

  /** Until one of the leaders is gone, or a lease that may last is surely over. */
  async #untilOneMayBeFree(
    contender: Contender,
    outcomes: readonly (Blocked | RetryAfter)[],
    signal: Abortable,
  ): Promise<void> {
    const { controller, unsubscribe } = anyAbort(signal, contender.node.lost);
    const waits: Promise<void>[] = [];
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const outcome of outcomes) {
      if ('retryAfterMs' in outcome) soonestMs = Math.min(soonestMs, outcome.retryAfterMs);
      else waits.push(contender.untilGone(outcome.blockedBy, controller));
    }
    if (soonestMs < Number.POSITIVE_INFINITY) waits.push(sleep(this.#session.clock, soonestMs, controller));
    try {
      await Promise.race(waits);
    } finally {
      unsubscribe();
      controller.abort(undefined);
      for (const wait of waits) wait.catch(ignore); // The others don't matter any more.
    }
  }
}

/** An election that has a record on its own node has one seat. */
function seatsOfElection({ data, stat }: NodeData): number | undefined {
  if (data.length > 0 && parseRecord(data, stat.version).state !== 'unreadable') return 1;
  return parseSeats(data);
}
