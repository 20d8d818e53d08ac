// Imports more than 15 modules: 16. It connects the rules of the record with the queue and the session.
import { NoNodeError, SeatsMismatchError, ZooKeeperError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { parseSeats } from '../../lock/queue/seats.js';
import type { Abortable } from '../../platform/async/lazy-abort.js';
import { abortable, anyAbort, ignore } from '../../platform/async/promises.js';
import { sleep } from '../../platform/time/clock.js';
import { isUnanswered } from '../../session/operations.js';
import type { TransactionPart } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import { parseRecord, type ReadRecord, recordPath, type Vacancy } from '../nodes/record.js';
import { handOverToPreferred } from '../successor/hand-over-to-preferred.js';
import { SuccessorSearch } from '../successor/successor-search.js';
import type { FailureDetector, LeaderFailure } from '../takeover/failure-detector.js';
import { type ClaimOptions, type LeaderListener, Takeover } from '../takeover/takeover.js';
import type { Claim } from './claim.js';
import { nextClaimStep, type RecordRead } from './claim-rules.js';
import { ClaimWriter } from './claim-writer.js';
import { takeoverDelayMs, UncleanEndNote } from './takeover-delay.js';

/** How a contender's turn has come. */
export interface Turn {
  /** Given if the record was read before and was vacant: the first claim then needs no other read. */
  readonly vacancy?: Vacancy | undefined;
  /** A read of the record that was sent because the turn may have come. */
  readonly reading?: RecordReading | undefined;
  /** Given if the leader has failed and the contender is to take over from it, out of turn. */
  readonly failure?: LeaderFailure;
  /** Other candidates may be ahead in the queue, or all seats are alike: the claim looks for no candidate with a higher priority. */
  readonly outOfTurn: boolean;
}

/** A read of the record that was sent, and the number of the connection over which it was sent. */
export interface RecordReading {
  readonly connectionNumber: number | undefined;
  readonly reading: Promise<RecordRead>;
}

/** Another candidate leads: `blockedBy` is the name of its node. */
export interface Blocked {
  readonly blockedBy: string;
}

/** The former leader's lease may last: try again in `retryAfterMs` milliseconds. */
export interface RetryAfter {
  readonly retryAfterMs: number;
}

/** Claims terms for one candidate. */
export type Claims = Pick<Claimant, 'prepare' | 'notePlaceLost' | 'detectors' | 'claim' | 'handedOver'> & {
  /** See {@link Claimant.readAhead}; `undefined` with several seats, since any of the records may be the right one. */
  readAhead(signal?: Abortable): RecordReading | undefined;
};

/** The claims of one candidate on one record. */
export class Claimant {
  readonly #session: Session;
  readonly #recordPath: string;
  readonly #options: ClaimOptions;
  readonly #seat: number;
  readonly #search: SuccessorSearch;
  readonly #takeover: Takeover;
  readonly #writer: ClaimWriter;
  readonly #uncleanEnd: UncleanEndNote;
  /** The transaction that wrote the record for which a preferred candidate was last looked for: once for each record. */
  #preferredAt: bigint | undefined;
  #placeLost = false;

  constructor(session: Session, path: string, id: string, options: ClaimOptions, seat?: number) {
    this.#session = session;
    this.#writer = new ClaimWriter(session, recordPath(path, seat), id, seat ?? 0);
    this.#recordPath = recordPath(path, seat);
    const { logger = session.logger, onTakeoverWait } = options;
    this.#uncleanEnd = new UncleanEndNote(logger, this.#recordPath, onTakeoverWait);
    this.#options = options;
    this.#seat = seat ?? 0;
    this.#search = new SuccessorSearch(session, path);
    this.#takeover = new Takeover(session, this.#recordPath, this.#seat, options, this.#search);
  }

  /** The record as it is now. @throws the signal's reason, or the error that ended the session */
  async read(signal?: Abortable): Promise<RecordRead> {
    const { data, stat } = await this.#session.retryUntilAnswered(
      () => this.#session.getData(this.#recordPath),
      signal,
    );
    const record = parseRecord(data, stat.version);
    const seats = record.state === 'unreadable' ? parseSeats(data) : undefined;
    if (seats !== undefined) throw new SeatsMismatchError(this.#recordPath, 1, seats);
    return { record, version: stat.version, zxid: stat.mzxid };
  }

  /** Sends a read of the record because the turn may have come. */
  readAhead(signal?: Abortable): RecordReading {
    const { connectionNumber } = this.#session;
    const reading = this.read(signal);
    reading.catch(ignore); // If it isn't the candidate's turn, no caller waits for it.
    return { connectionNumber, reading };
  }

  /**
   * Reads the record before the candidate joins. Returns its vacancy, for a candidate whose turn it is at once.
   * @throws SeatsMismatchError if the election has several seats: the candidate would block the others
   */
  async prepare(): Promise<Vacancy | undefined> {
    try {
      const { connectionNumber: connection } = this.#session;
      const { record, version } = await this.read();
      if (record.state !== 'vacant' || this.#placeLost) return undefined;
      return { term: record.term + 1, version, connection };
    } catch (error) {
      if (error instanceof NoNodeError) return undefined;
      throw error;
    }
  }

  /** Notes that another client deleted this candidate's node, and perhaps the record as well. */
  notePlaceLost(): void {
    this.#placeLost = true;
  }

  /**
   * Claims the next term for a contender whose turn it is. If the former leader ended uncleanly, it first waits until that leader's lease
   * is surely over. If the reply to a claim is lost, it reads the record and never guesses the outcome.
   * @throws NodeLostError if the contender's node is gone, the error that ended the session, or the signal's reason. While a claim isn't
   *   answered, it throws that reason a lease after the abort
   */
  async claim(contender: Contender, turn: Turn, signal: Abortable): Promise<Claim | Blocked> {
    if (turn.failure !== undefined) {
      const claim = await this.#takeOver(contender, turn.failure, signal);
      return claim ?? { blockedBy: turn.failure.leader.record.node };
    }
    if (turn.vacancy !== undefined) {
      const claim = await this.#tryClaim(contender, turn.vacancy, signal);
      if (claim !== undefined) return claim;
    }
    for (let now = turn; ; now = { ...turn, reading: undefined }) {
      const outcome = await this.claimUnlessEarly(contender, now, signal);
      if (!('retryAfterMs' in outcome)) return outcome;
      await this.#pause(outcome.retryAfterMs, contender, signal); // After the pause, the earlier reads are outdated.
    }
  }

  async #pause(ms: number, contender: Contender, signal: Abortable): Promise<void> {
    const { controller, unsubscribe } = anyAbort(signal, contender.node.lost);
    try {
      await sleep(this.#session.clock, ms, controller);
    } finally {
      unsubscribe();
    }
  }

  /** As {@link claim}, but returns instead of waiting after an unclean end. The delay counts from the first call that saw the end. */
  async claimUnlessEarly(
    contender: Contender,
    turn: Turn,
    signal: Abortable,
  ): Promise<Claim | Blocked | RetryAfter> {
    const ownNode = contender.entry.node;
    const noticedAt = this.#session.clock.now();
    for (let ahead = turn.reading; ; ahead = undefined) {
      signal.throwIfAborted();
      const { connectionNumber, reading } = ahead ?? this.readAhead(signal);
      const { record, version, zxid } = await abortable(reading, signal);
      const holder = record.state === 'held' ? record.node : undefined;
      const other = holder === ownNode ? undefined : holder;
      if (other !== undefined && ahead !== undefined) continue; // This read may be older than the listing that has shown the turn.
      if (other !== undefined && (await contender.nodeExists(other, signal))) return { blockedBy: other };
      const now = this.#session.clock.now();
      // After the read, its holder may have released the term, and its node went with that release.
      if (this.#uncleanEnd.isNew(zxid, now) && other !== undefined) continue;
      const delayMs = this.delayFor(record);
      const step = nextClaimStep({
        ...{ record, version, zxid, ownNode, now, delayMs },
        unclean: this.#uncleanEnd.end,
        placeLost: this.#placeLost,
      });
      switch (step.kind) {
        case 'ours': {
          const read = { record, version, zxid, noticedAt };
          const claim = await this.#adopt(contender, read, connectionNumber, signal);
          if (claim !== undefined) return claim;
          break;
        }
        case 'wait':
          this.#uncleanEnd.report(record, step.ms);
          return { retryAfterMs: step.ms };
        case 'claim': {
          const leaderLostAt = record.state === 'vacant' ? undefined : this.#uncleanEnd.end.seenAt;
          const lost = leaderLostAt === undefined ? {} : { leaderLostAt };
          const vacancy = { ...step, connection: connectionNumber, ...lost };
          if (other !== undefined && !turn.outOfTurn && this.#preferredAt !== zxid) {
            this.#preferredAt = zxid;
            const preferred = await this.#handOver(contender, vacancy, other, signal);
            if (preferred !== undefined) return { blockedBy: preferred };
          }
          const claim = await this.#tryClaim(contender, vacancy, signal);
          if (claim !== undefined) return claim;
        }
      }
    }
  }

  /** The detectors that follow the leader of this record, for a candidate that may have to take over from it. */
  detectors(contender: Contender, listener: LeaderListener): FailureDetector[] {
    return this.#takeover.detectors(contender, listener);
  }

  async #takeOver(
    contender: Contender,
    failure: LeaderFailure,
    signal: Abortable,
  ): Promise<Claim | undefined> {
    const { record, version, connection } = failure.leader;
    const vacancy = { term: record.term + 1, version, connection, leaderLostAt: failure.silentSince };
    const claimed = await this.#takeover.carryOut(contender, failure, signal, (deletions) =>
      this.#tryClaim(contender, vacancy, signal, deletions),
    );
    return claimed ?? (await this.handedOver(contender, signal));
  }

  /**
   * Takes up the term that is this contender's by the record, if there is one: handed over, or claimed by an unanswered write.
   * @param ahead - a read of the record that was sent before
   * @throws as {@link claim} does
   */
  async handedOver(
    contender: Contender,
    signal: Abortable,
    ahead?: RecordReading,
  ): Promise<Claim | undefined> {
    const ownNode = contender.entry.node;
    const noticedAt = this.#session.clock.now();
    for (let sent = ahead; ; sent = undefined) {
      const { connectionNumber, reading } = sent ?? this.readAhead(signal);
      const read = await abortable(reading, signal);
      const { record } = read;
      const isOurs = record.state === 'held' && record.node === ownNode;
      if (!isOurs) return undefined;
      const adopted = { ...read, noticedAt };
      const claim = await this.#adopt(contender, adopted, connectionNumber, signal);
      if (claim !== undefined) return claim;
    }
  }

  /**
   * Takes up a term that is this contender's by the record. It leads once a proof of its own has begun a lease. Returns `undefined` if the record has to be read again.
   */
  async #adopt(
    contender: Contender,
    { record, version, zxid, noticedAt }: RecordRead & { readonly noticedAt: number },
    connection: number | undefined,
    signal: Abortable,
  ): Promise<Claim | undefined> {
    if (record.state !== 'held') return undefined;
    contender.node.keepAlive();
    const { node } = contender;
    if (!node.isHeld()) await node.renew(signal);
    const isBasis = record.leaseMs >= this.#session.leaseMs; // Others wait no longer than the record says.
    if (isBasis)
      return this.#writer.claimed(contender, record.term, zxid, version, connection, {
        kind: 'handover',
        sinceMs: noticedAt,
      });
    // A leader that didn't know the contender's lease has written this record. In this term the contender has got no
    // lease, so it claims the next term.
    return await this.#tryClaim(contender, { term: record.term + 1, version, connection }, signal);
  }

  /** After an unclean end: hands the term to a candidate with a higher priority, if there is one. Returns the name of its node. */
  async #handOver(contender: Contender, vacancy: Vacancy, after: string, signal: Abortable) {
    const term = { ...vacancy, record: this.#recordPath };
    try {
      return await abortable(handOverToPreferred(contender, this.#search, term, after), signal);
    } catch (error) {
      // The preferred candidate has left, or its node may not be written: the contender claims for itself. After a lost
      // reply the record shows the outcome.
      if (isUnanswered(error) || error instanceof ZooKeeperError) return undefined;
      throw error;
    }
  }

  /** The wait after an unclean end that left this record, in milliseconds: as long as the leader's lease needs, or longer. */
  delayFor(record: ReadRecord): number {
    const neededMs = takeoverDelayMs(record.state === 'held' ? record.leaseMs : this.#session.leaseMs);
    return Math.max(neededMs, this.#options.takeoverDelayMs ?? 0);
  }

  /** Sends a claim. Returns `undefined` if nothing was claimed, or if the outcome isn't known; then the record shows it. */
  async #tryClaim(
    contender: Contender,
    vacancy: Vacancy,
    signal: Abortable,
    deletions?: readonly TransactionPart[],
  ): Promise<Claim | undefined> {
    const claim = await this.#writer.claim(contender, vacancy, signal, deletions);
    if (claim !== undefined) this.#placeLost = false;
    return claim;
  }
}
