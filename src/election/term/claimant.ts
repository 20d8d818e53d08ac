// Imports more than 15 modules: 16; it ties the rules of the record to the queue and to the session.
import { NodeLostError, NoNodeError, SeatsMismatchError, ZooKeeperError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { parseSeats } from '../../lock/queue/seats.js';
import type { Abortable } from '../../platform/async/lazy-abort.js';
import { abortable, anyAbort, ignore } from '../../platform/async/promises.js';
import { lowerBoundNow, sleep } from '../../platform/time/clock.js';
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

/** How it came to be a contender's turn. */
export interface Turn {
  /** The record, if it was read before and was vacant: allows a first try without reading it again. */
  readonly vacancy?: Vacancy | undefined;
  /** A read of the record that was sent when the turn may have come. */
  readonly reading?: RecordReading | undefined;
  /** The leader has failed, and the contender is to take over from it, out of turn. */
  readonly failure?: LeaderFailure;
  /** Others may be ahead in the queue, or all are alike: no candidate with a higher priority is looked for. */
  readonly outOfTurn: boolean;
}

/** A read of the record that was sent, and the number of the connection over which it was. */
export interface RecordReading {
  readonly connectionNumber: number | undefined;
  readonly reading: Promise<RecordRead>;
}

/** Another candidate leads: the name of its node. */
export interface Blocked {
  readonly blockedBy: string;
}

/** The former leader's lease may last: try again in so many milliseconds. */
export interface RetryAfter {
  readonly retryAfterMs: number;
}

/** Claims terms for one candidate. */
export type Claims = Pick<
  Claimant,
  'prepare' | 'joinAndClaim' | 'notePlaceLost' | 'detectors' | 'claim' | 'handedOver'
> & {
  /** See {@link Claimant.readAhead}; `undefined` where more than one record may be the one. */
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
  /** The transaction that wrote the record at which a candidate with a higher priority was looked for: that is done once. */
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

  /** The record as it is now. @throws the signal's reason, or what ended the session */
  async read(signal?: Abortable): Promise<RecordRead & Pick<Vacancy, 'isDeserted'>> {
    const { data, stat } = await this.#session.retryUntilAnswered(
      () => this.#session.getData(this.#recordPath),
      signal,
    );
    const record = parseRecord(data, stat.version);
    const seats = record.state === 'unreadable' ? parseSeats(data) : undefined;
    if (seats !== undefined) throw new SeatsMismatchError(this.#recordPath, 1, seats);
    return { record, version: stat.version, zxid: stat.mzxid, isDeserted: stat.numChildren === 0 };
  }

  /** Sends a read of the record, for a turn that may have come. */
  readAhead(signal?: Abortable): RecordReading {
    const { connectionNumber } = this.#session;
    const reading = this.read(signal);
    reading.catch(ignore); // It may not be the candidate's turn.
    return { connectionNumber, reading };
  }

  /**
   * The record as it is before the candidate has joined, if that is vacant: what may be claimed if it is the candidate's turn at once.
   * @throws SeatsMismatchError for another number of seats, with which it would be in others' way
   */
  async prepare(): Promise<Vacancy | undefined> {
    try {
      const { connectionNumber: connection } = this.#session;
      const { record, version, isDeserted } = await this.read();
      if (record.state !== 'vacant' || this.#placeLost) return undefined;
      return { term: record.term + 1, version, connection, isDeserted };
    } catch (error) {
      if (error instanceof NoNodeError) return undefined;
      throw error;
    }
  }

  /** Another client deleted this candidate's node, and perhaps the record with what it said. */
  notePlaceLost(): void {
    this.#placeLost = true;
  }

  /**
   * Claims the next term for a contender whose turn it is. If the former leader ended uncleanly, waits first until its lease
   * is surely over. If the reply to a claim is lost, the record is read: the outcome is never guessed.
   * @param onSent - called when a claim has just been sent: the reply to a request that is sent now shows the state after it
   * @throws NodeLostError for a gone node, what ended the session, or the signal's reason: while a claim isn't answered, a lease
   *   after the abort
   */
  async claim(
    contender: Contender,
    turn: Turn,
    signal: Abortable,
    onSent?: () => void,
  ): Promise<Claim | Blocked> {
    if (turn.failure !== undefined) {
      const claim = await this.#takeOver(contender, turn.failure, signal, onSent);
      return claim ?? { blockedBy: turn.failure.leader.record.node };
    }
    if (turn.vacancy !== undefined) {
      const claim = await this.#tryClaim(contender, turn.vacancy, signal, onSent);
      if (claim !== undefined) return claim;
    }
    for (let now = turn; ; now = { ...turn, reading: undefined }) {
      const outcome = await this.claimUnlessEarly(contender, now, signal, onSent);
      if (!('retryAfterMs' in outcome)) return outcome;
      await this.#pause(outcome.retryAfterMs, contender, signal); // What was read before is old then.
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

  /** Claims as {@link claim} does, but doesn't wait after an unclean end. That wait counts from the first call that saw it. */
  async claimUnlessEarly(
    contender: Contender,
    turn: Turn,
    signal: Abortable,
    onSent?: () => void,
  ): Promise<Claim | Blocked | RetryAfter> {
    const ownNode = contender.entry.node;
    const noticedAt = lowerBoundNow(this.#session.clock);
    for (let ahead = turn.reading; ; ahead = undefined) {
      signal.throwIfAborted();
      const { connectionNumber, reading } = ahead ?? this.readAhead(signal);
      if (ahead === undefined) onSent?.(); // The term may have been handed over.
      const { record, version, zxid } = await abortable(reading, signal);
      const holder = record.state === 'held' ? record.node : undefined;
      contender.node.claimSettled(); // Whatever claim there was before, its outcome is certain now.
      const other = holder === ownNode ? undefined : holder;
      if (other !== undefined && ahead !== undefined) continue; // It may be older than the listing that has shown the turn.
      if (other !== undefined && (await contender.nodeExists(other, signal))) return { blockedBy: other };
      const now = this.#session.clock.now();
      // Its holder may have released it, and its node gone with that, after it was read.
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
          const claim = await this.#adopt(contender, read, connectionNumber, signal, onSent);
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
          const claim = await this.#tryClaim(contender, vacancy, signal, onSent);
          if (claim !== undefined) return claim;
        }
      }
    }
  }

  /** What follows the leader of this record, for a candidate that may have to take over from it. */
  detectors(contender: Contender, listener: LeaderListener): FailureDetector[] {
    return this.#takeover.detectors(contender, listener);
  }

  async #takeOver(
    contender: Contender,
    failure: LeaderFailure,
    signal: Abortable,
    onSent?: () => void,
  ): Promise<Claim | undefined> {
    const { record, version, connection } = failure.leader;
    const vacancy = { term: record.term + 1, version, connection, leaderLostAt: failure.silentSince };
    const claimed = await this.#takeover.carryOut(contender, failure, signal, (deletions) =>
      this.#tryClaim(contender, vacancy, signal, onSent, deletions),
    );
    return claimed ?? (await this.handedOver(contender, signal, onSent));
  }

  /**
   * Takes up the term that the record shows to be this contender's: handed over, or claimed by a write that wasn't answered.
   * `undefined`: there is none.
   * @param onSent - called when the record is being read: the reply to a request that is sent now shows the state after it
   * @param ahead - a read of the record that was sent
   * @throws as {@link claim} does
   */
  async handedOver(
    contender: Contender,
    signal: Abortable,
    onSent?: () => void,
    ahead?: RecordReading,
  ): Promise<Claim | undefined> {
    const ownNode = contender.entry.node;
    const noticedAt = lowerBoundNow(this.#session.clock);
    for (let sent = ahead; ; sent = undefined) {
      const { connectionNumber, reading } = sent ?? this.readAhead(signal);
      if (sent === undefined) onSent?.();
      const read = await abortable(reading, signal);
      const { record } = read;
      const isOurs = record.state === 'held' && record.node === ownNode;
      contender.node.claimSettled();
      if (!isOurs) return undefined;
      const adopted = { ...read, noticedAt };
      const claim = await this.#adopt(contender, adopted, connectionNumber, signal, onSent);
      if (claim !== undefined) return claim;
    }
  }

  /**
   * The record says that the term is this contender's. It leads once a heartbeat of its own has begun a lease; the first one makes
   * the heartbeat node. `undefined`: read again.
   */
  async #adopt(
    contender: Contender,
    { record, version, zxid, noticedAt }: RecordRead & { readonly noticedAt: number },
    connection: number | undefined,
    signal: Abortable,
    onSent?: () => void,
  ): Promise<Claim | undefined> {
    if (record.state !== 'held') return undefined;
    contender.node.keepAlive();
    const { node } = contender;
    if (!node.isHeld()) await node.renew(signal);
    const isBasis = record.leaseMs >= this.#session.leaseMs; // Others wait for no longer than it says.
    if (isBasis && (record.takeover !== 'lease' || node.raiseOrLose()))
      return this.#writer.claimed(contender, record.term, zxid, version, connection, {
        kind: 'handover',
        sinceMs: noticedAt,
      });
    // A leader that knew less has written that. In that term the contender's checks have begun no lease: it claims the next one.
    return await this.#tryClaim(contender, { term: record.term + 1, version, connection }, signal, onSent);
  }

  /** After an unclean end: a candidate with a higher priority, if there is one, leads in the place of this one. Gives its node's name. */
  async #handOver(contender: Contender, vacancy: Vacancy, after: string, signal: Abortable) {
    const term = { ...vacancy, record: this.#recordPath };
    try {
      return await abortable(handOverToPreferred(contender, this.#search, term, after), signal);
    } catch (error) {
      // It left, or may not be written: the contender claims for itself. After a lost reply the record tells.
      if (isUnanswered(error) || error instanceof ZooKeeperError) return undefined;
      throw error;
    }
  }

  /** How long an unclean end that left this record is waited out: never shorter than the former leader's lease needs. */
  delayFor(record: ReadRecord): number {
    const neededMs = takeoverDelayMs(record.state === 'held' ? record.leaseMs : this.#session.leaseMs);
    return Math.max(neededMs, this.#options.takeoverDelayMs ?? 0);
  }

  /** Sends a claim. `undefined`: nothing was claimed, or the outcome isn't known: the record tells. */
  async #tryClaim(
    contender: Contender,
    vacancy: Vacancy,
    signal: Abortable,
    onSent?: () => void,
    deletions?: readonly TransactionPart[],
  ): Promise<Claim | undefined> {
    const claim = await this.#writer.claim(contender, vacancy, signal, onSent, deletions);
    if (claim !== undefined) this.#placeLost = false;
    return claim;
  }

  /**
   * Joins the queue and claims, in one write, for a contender whose node isn't created yet, where no candidate was in the queue
   * and the record was vacant. A candidate that joins meanwhile may claim first: the version of the record decides.
   * @param onOthers - called if other candidates may be in the queue, when a request that is sent now shows the state after the claim
   * @returns `undefined`: the contender has no node, and is to join as others do
   * @throws as {@link claim} does: the node may exist
   */
  async joinAndClaim(
    contender: Contender,
    data: Buffer,
    vacancy: Vacancy,
    signal: Abortable,
    onOthers: () => void,
  ): Promise<Claim | undefined> {
    const { node } = contender;
    const outcome = await this.#writer.joinAndClaim(contender, data, vacancy, signal, onOthers);
    if (outcome !== 'unanswered') return outcome;
    try {
      await node.renew(signal); // A barrier: if the node is not there now, the claim won't be carried out any more.
    } catch (error) {
      if (!(error instanceof NodeLostError)) throw error;
      void node.deleteForSure(); // Another client may have left its heartbeat node alone. Never rejects.
      return undefined;
    }
    const claim = await this.handedOver(contender, signal, onOthers);
    if (claim === undefined)
      throw new NodeLostError(`${node.path} has claimed a term that is not in the record`);
    return claim;
  }
}
