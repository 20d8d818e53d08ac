import { SeatsMismatchError } from '../errors.js';
import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import { ifThere } from '../session/operations.js';
import type { Access } from '../session/protocol/acl.js';
import type { NodeData } from '../session/protocol/multi-and-stats.js';
import type { Change } from '../session/protocol/requests.js';
import type { Session } from '../session/session.js';
import { isOutdated } from '../session/versioned-records.js';

/** The number of seats in a node's data; `undefined` if the data contain no such number. */
export function parseSeats(data: Buffer): number | undefined {
  const match = /^\{"seats":([1-9]\d{0,8})\}$/.exec(data.toString('latin1'));
  return match === null ? undefined : Number(match[1]);
}

export function serializeSeats(seats: number): Buffer {
  return Buffer.from(JSON.stringify({ seats }));
}

/** Listens for the next change, until the signal aborts. */
interface Watch {
  readonly onChange: (change: Change) => void;
  readonly signal: Abortable;
}

/**
 * The number of seats on which all users of a path agree. It is the data of the path's node, which the first user writes. A user
 * that was given another number is refused. A user that has agreed once follows later changes of the number.
 */
export class AgreedSeats {
  readonly #session: Session;
  readonly #path: string;
  readonly #access: Access | undefined;
  readonly #given: number;
  /** The number at the last agreement; `undefined` before the first one. */
  #agreedOn: number | undefined;

  /**
   * @param access - the access list of the node, if it has to be created. @default the session's
   */
  constructor(session: Session, path: string, seats: number, access: Access | undefined) {
    this.#access = access;
    this.#session = session;
    this.#path = path;
    this.#given = seats;
  }

  /**
   * The current number. `watch` learns of the next change.
   * @throws SeatsMismatchError, the error that ended the session, the signal's reason, or a `ZooKeeperError` if a server refuses
   */
  async agree(watch?: Watch): Promise<number> {
    await this.#session.guard.check(this.#path, this.#access);
    for (;;) {
      const found = await this.#read(watch);
      if (found === undefined) await this.#session.ensurePath(this.#path, this.#access);
      else if (found.data.length > 0 || found.stat.version > 0) return this.#check(parseSeats(found.data));
      else await this.#write(this.#wanted, 0);
    }
  }

  /** Changes the number for all users. @throws as {@link AgreedSeats.agree} does */
  async change(seats: number): Promise<void> {
    let written = false;
    while (!written) {
      await this.agree();
      const found = await this.#read();
      if (found === undefined) continue;
      this.#check(parseSeats(found.data));
      written = await this.#write(seats, found.stat.version);
    }
    this.#agreedOn = seats;
  }

  get #wanted(): number {
    return this.#agreedOn ?? this.#given;
  }

  #check(agreed: number | undefined): number {
    if (agreed === undefined || (this.#agreedOn === undefined && agreed !== this.#given))
      throw new SeatsMismatchError(this.#path, this.#wanted, agreed);
    this.#agreedOn = agreed;
    return agreed;
  }

  #read(watch?: Watch): Promise<NodeData | undefined> {
    const read = () =>
      watch === undefined
        ? this.#session.getData(this.#path)
        : this.#session.watchData(this.#path, watch.onChange, watch.signal);
    return ifThere(this.#session.retryUntilAnswered(read, watch?.signal));
  }

  /** `false` if another client wrote first, or if this write was carried out and its reply was lost. */
  async #write(seats: number, version: number): Promise<boolean> {
    try {
      await this.#session.retryUntilAnswered(() =>
        this.#session.setData(this.#path, serializeSeats(seats), version),
      );
      return true;
    } catch (error) {
      if (isOutdated(error)) return false;
      throw error;
    }
  }
}
