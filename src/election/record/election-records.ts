import { NodeExistsError, NoNodeError, SeatsMismatchError } from '../../errors.js';
import type { Abortable } from '../../platform/async/lazy-abort-controller.js';
import { abortable } from '../../platform/async/promises.js';
import { AgreedNumber, parseSeats } from '../../queue/seat-count-node.js';
import { ifThere } from '../../session/operations.js';
import type { NodeData } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import { parseRecord, recordPath, type SeenRecord } from './record.js';

/** This isn't a record, so a candidate that reads it waits as after an unclean end. */
const DELETED_RECORD = Buffer.from('{"state":"deleted"}');

/**
 * The records of an election, for one elector and all of its places in the queue. With one seat it is the election's own node. With
 * several, each seat has a node below it, and with it terms, tokens and takeover delays, as if it were an election. If the record of
 * such a seat was deleted, with the whole election for example, it counts as held.
 */
export class ElectionRecords {
  readonly seats: number;
  readonly #session: Session;
  readonly #path: string;
  /** With several seats. */
  readonly #agreement: AgreedNumber | undefined;
  /** The seats for which {@link isPlaceLost} holds. */
  readonly #placeLost = new Set<number>();

  constructor(session: Session, path: string, seats: number) {
    this.#session = session;
    this.#path = path;
    this.seats = seats;
    if (seats === 1) return;
    // The records are created before the number of seats is written. So if a record is missing later, it was deleted.
    const prepare = async () => void (await Promise.all(this.#paths.map((each) => session.ensurePath(each))));
    this.#agreement = new AgreedNumber(session, path, seats, { parse: seatsOfElection, prepare });
  }

  pathOf(seat: number): string {
    return recordPath(this.#path, this.seats === 1 ? undefined : seat);
  }

  /** Another client deleted a place of this elector, and perhaps the records as well. */
  notePlaceLost(): void {
    for (let seat = 0; seat < this.seats; seat++) this.#placeLost.add(seat);
  }

  /** The elector has claimed a term of that seat since. */
  noteClaim(seat: number): void {
    this.#placeLost.delete(seat);
  }

  isPlaceLost(seat: number): boolean {
    return this.#placeLost.has(seat);
  }

  /**
   * Makes sure that the election has that many seats. Returns the record of an election with one seat, if the election exists.
   * @throws SeatsMismatchError if the election has another number of seats: the elector would block its candidates
   */
  async prepare(): Promise<SeenRecord | undefined> {
    if (this.#agreement !== undefined) return await this.#agree(this.#agreement);
    return await ifThere(this.#readOnce(0));
  }

  async #agree(agreement: AgreedNumber): Promise<undefined> {
    const agreed = await agreement.agree();
    // A semaphore follows a change of the number. The number of an election never changes: another one shows that the
    // election was deleted and made anew, or tampered with.
    if (agreed !== this.seats) throw new SeatsMismatchError(this.#path, this.seats, agreed);
    // Any client that may create children may have created the records first.
    await Promise.all(this.#paths.map((record) => this.#session.guard.checkRecord(record)));
  }

  /**
   * The record of a seat as it is now. Of several, a record that was deleted is created again.
   * @throws SeatsMismatchError, NoNodeError if the election is gone, the signal's reason, or the error that ended the session
   */
  async read(seat: number, signal: Abortable): Promise<SeenRecord> {
    for (;;) {
      try {
        return await this.#readOnce(seat, signal);
      } catch (error) {
        if (!(error instanceof NoNodeError) || this.seats === 1) throw error;
        await abortable(this.#restore(this.pathOf(seat)), signal);
      }
    }
  }

  async #readOnce(seat: number, signal?: Abortable): Promise<SeenRecord> {
    const path = this.pathOf(seat);
    let connection: number | undefined;
    const { data, stat } = await this.#session.retryUntilAnswered(() => {
      connection = this.#session.connectionNumber;
      return this.#session.getData(path);
    }, signal);
    const value = parseRecord(data, stat.version);
    const seats = value.state === 'unreadable' && this.seats === 1 ? parseSeats(data) : undefined;
    if (seats !== undefined) throw new SeatsMismatchError(path, 1, seats);
    return { value, version: stat.version, zxid: stat.mzxid, connection };
  }

  /** Creates a record again. The seat's leader may still act, so the new record isn't that of a seat without a term. */
  async #restore(path: string): Promise<void> {
    try {
      await this.#session.retryUntilAnswered(() => this.#session.create(path, { data: DELETED_RECORD }));
    } catch (error) {
      if (!(error instanceof NodeExistsError)) throw error;
      await this.#session.guard.checkRecord(path);
    }
  }

  get #paths(): string[] {
    return Array.from({ length: this.seats }, (_, seat) => this.pathOf(seat));
  }
}

/** The number of seats by the data of the election's node. An election with a record on its own node has one seat. */
function seatsOfElection({ data, stat }: NodeData): number | undefined {
  if (data.length > 0 && parseRecord(data, stat.version).state !== 'unreadable') return 1;
  return parseSeats(data);
}
