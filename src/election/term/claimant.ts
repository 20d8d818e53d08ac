// Imports more than 15 modules: 16; it ties the rules of the record to the queue and to the session.
import { BadVersionError, NoNodeError, SeatsMismatchError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { parseSeats } from '../../lock/queue/seats.js';
import type { Abortable } from '../../platform/async/lazy-abort.js';
import { anyAbort, ignore } from '../../platform/async/promises.js';
import { sleep } from '../../platform/time/clock.js';
import { isUnanswered } from '../../session/operations.js';
import type { TransactionPart } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import {
  type ExpectedRecord,
  parseRecord,
  predictRecord,
  type ReadRecord,
  recordPath,
  serializeRecord,
  vacancy,
  writesOfClaim,
} from '../nodes/record.js';
import type { NextInLine } from '../successor/next-in-line.js';
import { Successor } from '../successor/successor.js';
import type { Claim } from './claim.js';
import { nextClaimStep, type RecordRead } from './claim-rules.js';
import { recordWrites, releaseParts } from './release.js';
import { takeoverDelayMs, type UncleanEnd } from './takeover-delay.js';

/** How it came to be a contender's turn. */
export interface Turn {
  /** What is known of the record: allows a first try without reading it. */
  readonly expected?: ExpectedRecord | undefined;
  /** The contender was nominated though others are ahead in the queue: it steps back if another candidate leads already. */
  readonly outOfTurn: boolean;
}

/** Another candidate leads, or should: the name of its node, and how long to let it take its turn. */
export interface Blocked {
  readonly blockedBy: string;
  readonly atMostMs?: number;
}

/** The former leader's lease may last: try again in so many milliseconds. */
export interface RetryAfter {
  readonly retryAfterMs: number;
}

/** Claims terms and gives them back, for one candidate. */
export type Claims = Pick<
  Claimant,
  'prepare' | 'notePlaceLost' | 'readAhead' | 'predictRecord' | 'claim' | 'release'
>;

/** The claims of one candidate on one record. */
export class Claimant {
  readonly #session: Session;
  readonly #recordPath: string;
  readonly #id: string;
  readonly #delayMs: number | undefined;
  readonly #seat: number;
  readonly #successor: Successor;
  #unclean: UncleanEnd | undefined;
  /** The transaction that wrote the record at which this candidate deferred to another one: it does so once. */
  #deferredAt: bigint | undefined;
  #placeLost = false;

  /** @param delayMs - how long to wait after an unclean end; by default as long as the former leader's lease needs */
  constructor(session: Session, path: string, id: string, delayMs: number | undefined, seat?: number) {
    this.#session = session;
    this.#recordPath = recordPath(path, seat);
    this.#id = id;
    this.#delayMs = delayMs;
    this.#seat = seat ?? 0;
    this.#successor = new Successor(session, path);
  }

  /** The record as it is now. @throws the signal's reason, or what ended the session */
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

  /** As {@link readAhead}. @throws SeatsMismatchError for another number of seats, with which it would be in others' way */
  async prepare(): Promise<ExpectedRecord | undefined> {
    try {
      return this.#vacancy(await this.read());
    } catch (error) {
      if (error instanceof NoNodeError) return undefined;
      throw error;
    }
  }

  /** Reads the record before it is known whether it is this candidate's turn: what may be claimed if it is. Never rejects. */
  async readAhead(signal: Abortable): Promise<ExpectedRecord | undefined> {
    try {
      return this.#vacancy(await this.read(signal));
    } catch {
      return undefined; // Only a short cut, as below.
    }
  }

  #vacancy({ record, version }: RecordRead): ExpectedRecord | undefined {
    return this.#placeLost ? undefined : vacancy(record, version);
  }

  /** Another client deleted this candidate's node, and perhaps the record with what it said. */
  notePlaceLost(): void {
    this.#placeLost = true;
  }

  /** What a clean release by `ahead`, the only one ahead, would leave behind, if that can be known. Never rejects. */
  async predictRecord(ahead: string, signal: Abortable): Promise<ExpectedRecord | undefined> {
    try {
      const { record, version } = await this.read(signal);
      return predictRecord(record, version, ahead);
    } catch {
      return undefined; // Only a short cut: without it the record is read when it matters.
    }
  }

  /**
   * Claims the next term for a contender whose turn it is. If the former leader ended uncleanly, waits first until its lease
   * is surely over. If the reply to a claim is lost, the record is read: the outcome is never guessed.
   * @param onSent - called when a claim has just been sent: the reply to a request that is sent now shows the state after it
   * @throws NodeLostError for a gone node, what ended the session, or, never before a claim's outcome, the signal's reason
   */
  async claim(
    contender: Contender,
    turn: Turn,
    signal: Abortable,
    onSent?: () => void,
  ): Promise<Claim | Blocked> {
    if (turn.expected !== undefined) {
      const claim = await this.#tryClaim(contender, turn.expected, signal, onSent);
      if (claim !== undefined) return claim;
    }
    for (;;) {
      const outcome = await this.claimUnlessEarly(contender, turn, signal, onSent);
      if (!('retryAfterMs' in outcome)) return outcome;
      await this.#pause(outcome.retryAfterMs, contender, signal);
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
    for (;;) {
      signal.throwIfAborted();
      const { record, version, zxid } = await this.read(signal);
      const other = record.state === 'held' && record.node !== ownNode ? record.node : undefined;
      if (other !== undefined && (await contender.nodeExists(other, signal))) return { blockedBy: other };
      const now = this.#session.clock.now();
      if (this.#unclean?.zxid !== zxid) this.#unclean = this.#noteUnclean(record, zxid, now, ownNode);
      if (other !== undefined && !turn.outOfTurn) {
        const preferred = await this.#nominatePreferred(contender, zxid, other);
        if (preferred !== undefined) return preferred;
      }
      const delayMs = this.#delayFor(record);
      const step = nextClaimStep({
        ...{ record, version, zxid, ownNode, now, delayMs },
        unclean: this.#unclean,
        deferred: this.#deferredAt === zxid,
        placeLost: this.#placeLost,
      });
      switch (step.kind) {
        case 'ours':
          return this.#claimed(contender, step.term, zxid, version);
        case 'wait':
          return { retryAfterMs: step.ms };
        case 'defer':
          this.#deferredAt = zxid;
          if (await contender.nodeExists(step.to, signal))
            return { blockedBy: step.to, atMostMs: this.#session.leaseMs };
          break;
        case 'claim': {
          const claim = await this.#tryClaim(contender, step, signal, onSent);
          if (claim !== undefined) return claim;
        }
      }
    }
  }

  /**
   * Gives a term back cleanly: the record says vacant and the node is gone, in one write. If that isn't possible, because
   * the node or the session is gone or another client wrote the record, the next candidate waits out this leader's lease.
   * Goes on until the servers have answered or the session has ended. Never rejects.
   */
  release(contender: Contender, claim: Claim, next: NextInLine = {}): Promise<void> {
    // May be carried out twice: the second time finds no node, and writes nothing.
    const write = (parts: TransactionPart[]) =>
      this.#session.retryUntilAnswered(() => contender.node.commit(parts));
    return contender.leave(async () => {
      if (!('ifAt' in next)) return await write(releaseParts(claim, next.successor));
      try {
        return await write(releaseParts(claim, undefined, next.ifAt));
      } catch (error) {
        // Of the leader's node, not of the record.
        if (!(error instanceof BadVersionError && error.operation === 'multi[delete]')) throw error;
      }
      return await write(releaseParts(claim, await next.otherwise()));
    });
  }

  /** After an unclean end: a candidate with a higher priority, if there is one, is nominated to wait it out and lead. */
  async #nominatePreferred(contender: Contender, zxid: bigint, after: string): Promise<Blocked | undefined> {
    if (this.#deferredAt === zxid) return undefined;
    this.#deferredAt = zxid;
    const preferred = await this.#successor.nominatePreferredTo(contender, after);
    // It has to wait out the former leader's lease, and may then take a moment to claim.
    const atMostMs = takeoverDelayMs(this.#session.sessionTimeoutMs);
    return preferred === undefined ? undefined : { blockedBy: preferred, atMostMs };
  }

  #delayFor(record: ReadRecord): number {
    return this.#delayMs ?? takeoverDelayMs(record.state === 'held' ? record.leaseMs : this.#session.leaseMs);
  }

  #noteUnclean(record: ReadRecord, zxid: bigint, seenAt: number, ownNode: string): UncleanEnd {
    const { logger } = this.#session;
    if (record.state === 'unreadable') {
      logger.warn({ path: this.#recordPath }, 'the election record can not be read: taken for held');
    } else if (record.state === 'held' && record.node !== ownNode) {
      logger.info(
        { term: record.term, formerLeader: record.id },
        'the former leader ended uncleanly: waiting for its lease to end',
      );
    }
    return { zxid, seenAt };
  }

  /** A claim is the transaction that wrote the record last: `zxid`, which left it at `version`. */
  #claimed(contender: Contender, term: number, zxid: bigint, version: number): Claim {
    return {
      term,
      seat: this.#seat,
      token: zxid,
      record: this.#recordPath,
      version,
      node: contender.node.path,
    };
  }

  /** `undefined`: the record isn't at that version, or the outcome isn't known: read it again. */
  async #tryClaim(
    contender: Contender,
    { term, version }: ExpectedRecord,
    signal: Abortable,
    onSent: () => void = ignore,
  ): Promise<Claim | undefined> {
    // Sent only while connected, and not held back until then: a claim that was given up must not go out later.
    await this.#session.whenConnected(signal);
    const { clock, leaseMs } = this.#session;
    const { node } = contender.entry;
    const data = serializeRecord({
      state: 'held',
      term,
      id: this.#id,
      node,
      leaseMs,
      since: clock.date().toISOString(),
    });
    try {
      const writes = recordWrites(this.#recordPath, data, version, writesOfClaim(version));
      const claiming = contender.node.commit(writes);
      onSent();
      const { value } = await claiming;
      const stat = value.at(-1)?.stat;
      if (stat === undefined) return undefined;
      this.#placeLost = false;
      return this.#claimed(contender, term, stat.mzxid, stat.version);
    } catch (error) {
      if (error instanceof BadVersionError) return undefined;
      if (!isUnanswered(error) && !(error instanceof NoNodeError)) throw error;
      // Commits a check of this contender's node: after it, the record shows whether the claim was carried out. It rejects if
      // the node is gone, and begins a lease otherwise. A contender that gives up here leaves as after an unclean end.
      await contender.node.renew(signal);
      return undefined;
    }
  }
}
