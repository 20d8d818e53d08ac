import { NodeExistsError, NoNodeError, SeatsMismatchError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { parseSeats, Seats } from '../../lock/queue/seats.js';
import type { Abortable } from '../../platform/async/lazy-abort.js';
import { abortable, anyAbort, deferred, ignore } from '../../platform/async/promises.js';
import { sleep } from '../../platform/time/clock.js';
import type { NodeData } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import { parseRecord, recordPath } from '../nodes/record.js';
import type { FailureDetector, LeaderFailure } from '../takeover/failure-detector.js';
import type { ClaimOptions, LeaderListener } from '../takeover/takeover.js';
import type { Claim } from './claim.js';
import { type Blocked, Claimant, type Claims, type RetryAfter, type Turn } from './claimant.js';

/** The claims of one candidate, for one seat or several. */
export function claimsOf(
  session: Session,
  path: string,
  id: string,
  options: ClaimOptions & { readonly seats: number },
): Claims {
  if (options.seats === 1) return new Claimant(session, path, id, options);
  return new SeatClaimant(session, path, id, options, options.seats);
}

/** This isn't a record, so a candidate that reads it waits as after an unclean end. */
const DELETED_RECORD = Buffer.from('{"state":"deleted"}');

/**
 * The claims of one candidate in an election with several seats. Each seat has its own record, and with it terms,
 * tokens and takeover delays, as if it were an election. If a seat's record was deleted, with the whole election for
 * example, it counts as held.
 *
 * The queue is common. A contender whose turn has come, with fewer contenders ahead than there are seats, takes the
 * first seat that it can. At any time no more contenders have their turn than there are seats, and each takes at most
 * one. So each finds a free seat, or a seat whose leader is gone. There is one exception: a contender that took over
 * from a leader before its turn has the seat of a contender ahead of it. That contender follows the leaders of all
 * seats while it waits.
 */
export class SeatClaimant implements Claims {
  readonly #session: Session;
  readonly #path: string;
  readonly #seats: Seats;
  /** One for each seat. */
  readonly #claimants: readonly Claimant[];

  constructor(session: Session, path: string, id: string, options: ClaimOptions, seats: number) {
    this.#session = session;
    this.#path = path;
    this.#seats = new Seats(session, path, seats, {
      parse: seatsOfElection,
      // The records are created before the number of seats is written. So if a record is missing later, it was deleted.
      prepare: async () =>
        void (await Promise.all(this.#records.map((record) => session.ensurePath(record)))),
    });
    this.#claimants = Array.from(
      { length: seats },
      (_, seat) => new Claimant(session, path, id, options, seat),
    );
  }

  async prepare(): Promise<undefined> {
    const seats = this.#claimants.length;
    const agreed = await this.#seats.agree();
    // A semaphore follows a change of the number. The number of an election never changes: another one shows that the
    // election was deleted and made anew, or tampered with.
    if (agreed !== seats) throw new SeatsMismatchError(this.#path, seats, agreed);
    // Any client that may create children may have created the records first.
    await Promise.all(this.#records.map((record) => this.#session.guard.checkRecord(record)));
  }

  notePlaceLost(): void {
    for (const claimant of this.#claimants) claimant.notePlaceLost();
  }

  /** Never with several seats: any of the records may be the right one. */
  readAhead(): undefined {
    return undefined;
  }

  /** Never with several seats: a release leaves the seat vacant. */
  async handedOver(): Promise<undefined> {
    return undefined;
  }

  /** One detector for each seat, since any of the leaders may fail. */
  detectors(contender: Contender, { onFailure }: LeaderListener): FailureDetector[] {
    return this.#claimants.flatMap((claimant) => claimant.detectors(contender, { onFailure }));
  }

  async claim(contender: Contender, turn: Turn, signal: Abortable): Promise<Claim | Blocked> {
    if (turn.failure !== undefined)
      return await (this.#claimants[turn.failure.seat] as Claimant).claim(contender, turn, signal);
    for (;;) {
      const outcomes: (Blocked | RetryAfter)[] = [];
      // One seat after the other: while the outcome of a claim isn't known, no other claim may follow.
      for (const seat of this.#claimants.keys()) {
        const outcome = await this.#claimSeat(seat, contender, signal);
        if ('token' in outcome) return outcome;
        outcomes.push(outcome);
      }
      const failure = await this.#untilOneMayBeFree(contender, outcomes, signal);
      if (failure === undefined) continue;
      const claim = await this.claim(contender, { outOfTurn: true, failure }, signal);
      if ('token' in claim) return claim;
    }
  }

  async #claimSeat(
    seat: number,
    contender: Contender,
    signal: Abortable,
  ): Promise<Claim | Blocked | RetryAfter> {
    const claimant = this.#claimants[seat] as Claimant;
    for (;;) {
      try {
        // All seats are alike, so no contender is preferred to another.
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

  /**
   * Creates a seat's record again. The seat's leader may still act, so the new record isn't that of a seat without a
   * term.
   */
  async #restore(seat: number): Promise<void> {
    const path = recordPath(this.#path, seat);
    try {
      await this.#session.retryUntilAnswered(() => this.#session.create(path, { data: DELETED_RECORD }));
    } catch (error) {
      if (!(error instanceof NodeExistsError)) throw error;
      await this.#session.guard.checkRecord(path);
    }
  }

  /**
   * Waits until one of the leaders is gone, a lease that may last is surely over, or a leader has failed. Returns the
   * failure in the last case.
   */
  async #untilOneMayBeFree(
    contender: Contender,
    outcomes: readonly (Blocked | RetryAfter)[],
    signal: Abortable,
  ): Promise<LeaderFailure | undefined> {
    const { controller, unsubscribe } = anyAbort(signal, contender.node.lost);
    const failed = deferred();
    let failure: LeaderFailure | undefined;
    const onFailure = (each: LeaderFailure) => {
      failure ??= each;
      failed.resolve();
    };
    const waits: Promise<void>[] = [];
    const detectors = this.#claimants.map((claimant) => claimant.detectors(contender, { onFailure }));
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const [seat, outcome] of outcomes.entries()) {
      if ('retryAfterMs' in outcome) soonestMs = Math.min(soonestMs, outcome.retryAfterMs);
      else {
        waits.push(contender.untilGone(outcome.blockedBy, controller));
        for (const detector of detectors[seat] ?? []) detector.follow(0, outcome.blockedBy);
      }
    }
    if (soonestMs < Number.POSITIVE_INFINITY) waits.push(sleep(this.#session.clock, soonestMs, controller));
    try {
      await Promise.race([failed.promise, ...waits]);
      return failure;
    } finally {
      unsubscribe();
      for (const detector of detectors.flat()) detector.stop();
      controller.abort(undefined);
      for (const wait of waits) wait.catch(ignore); // The other waits don't matter any more.
    }
  }
}

/** The number of seats by the data of the election's node. An election with a record on its own node has one seat. */
function seatsOfElection({ data, stat }: NodeData): number | undefined {
  if (data.length > 0 && parseRecord(data, stat.version).state !== 'unreadable') return 1;
  return parseSeats(data);
}
