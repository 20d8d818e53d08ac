import { sleep } from '../clock.js';
import { BadVersionError, NoNodeError } from '../errors.js';
import type { Contender } from '../lock/contender.js';
import { isUnanswered } from '../session/operations.js';
import type { Session } from '../session/session.js';
import { type Foresight, foresee, nextClaimStep, takeoverDelayMs, type UncleanEnd } from './claim.js';
import { type ElectionRecord, parseRecord, serializeRecord, type UnreadableRecord } from './record.js';

/** A claim that succeeded: the term is ours, and at the servers nobody else can take it while our node is there. */
export interface Claim {
  readonly term: number;
  /** The zxid of the claim: rises from term to term, over the whole life of the ensemble. */
  readonly token: bigint;
  /** The record's version after the claim: what a clean release expects. */
  readonly version: number;
}

interface RecordRead {
  readonly record: ElectionRecord | UnreadableRecord;
  readonly version: number;
  /** The transaction that wrote it. */
  readonly zxid: bigint;
}

/** Claims and releases terms of one election, for one candidate: the only writer of the record. */
export class Claimant {
  readonly #session: Session;
  readonly #path: string;
  readonly #id: string;
  readonly #delayMs: number | undefined;

  /** @param delayMs - how long to wait after an unclean end; by default as long as the former leader's lease needs */
  constructor(session: Session, path: string, id: string, delayMs: number | undefined) {
    this.#session = session;
    this.#path = path;
    this.#id = id;
    this.#delayMs = delayMs;
  }

  /** The record as it is now. @throws the signal's reason, or what ended the session */
  async read(signal?: AbortSignal): Promise<RecordRead> {
    const { data, stat } = await this.#session.untilAnswered(() => this.#session.getData(this.#path), signal);
    return { record: parseRecord(data), version: stat.version, zxid: stat.mzxid };
  }

  /** What a clean release by `ahead`, the only one ahead, would leave behind, if that can be known. Never rejects. */
  async foresee(ahead: string, signal: AbortSignal): Promise<Foresight | undefined> {
    try {
      const { record, version } = await this.read(signal);
      return foresee(record, version, ahead);
    } catch {
      return undefined; // Only a short cut: without it the record is read when it matters.
    }
  }

  /**
   * Claims the next term for a contender that nobody is ahead of. If the former leader ended uncleanly, waits first
   * until its lease is surely over. A claim whose reply was lost is looked up, never guessed.
   *
   * @throws NodeLostError if the contender's node is gone, what ended the session, or the signal's reason; while a
   *   claim is under way the signal waits for its outcome
   */
  async claim(contender: Contender, foresight: Foresight | undefined, signal: AbortSignal): Promise<Claim> {
    if (foresight !== undefined) {
      const claim = await this.#tryClaim(contender, foresight, signal);
      if (claim !== undefined) return claim;
    }
    let unclean: UncleanEnd | undefined;
    for (;;) {
      signal.throwIfAborted();
      const { record, version, zxid } = await this.read(signal);
      const ownNode = contender.entry.node;
      if (record.state === 'held' && record.node !== ownNode) await contender.untilGone(record.node, signal);
      const now = this.#session.clock.now();
      if (unclean?.version !== version) unclean = this.#noteUnclean(record, version, now, ownNode);
      const step = nextClaimStep({ record, version, ownNode, unclean, now, delayMs: this.#delayFor(record) });
      switch (step.kind) {
        case 'ours':
          return { term: step.term, token: zxid, version };
        case 'wait':
          await sleep(this.#session.clock, step.ms, AbortSignal.any([signal, contender.own.signal]));
          break;
        case 'claim': {
          const claim = await this.#tryClaim(contender, step, signal);
          if (claim !== undefined) return claim;
        }
      }
    }
  }

  /**
   * Gives a term back cleanly: the record says vacant and the node is gone, in one write. If that can't be, because
   * the node or the session is gone or somebody else wrote the record, whoever comes next waits out our lease.
   * Goes on until the servers have answered or the session is over. Never rejects.
   */
  release(contender: Contender, { term, version }: Claim): Promise<void> {
    const parts = [
      { kind: 'check', path: contender.own.path },
      { kind: 'set', path: this.#path, data: serializeRecord({ state: 'vacant', term }), version },
      { kind: 'delete', path: contender.own.path },
    ] as const;
    // May be carried out twice: the second time finds no node, and writes nothing.
    return contender.leave(() => this.#session.untilAnswered(() => this.#session.commit(parts)));
  }

  #delayFor(record: ElectionRecord | UnreadableRecord): number {
    return this.#delayMs ?? takeoverDelayMs(record.state === 'held' ? record.leaseMs : this.#session.leaseMs);
  }

  #noteUnclean(
    record: ElectionRecord | UnreadableRecord,
    version: number,
    seenAt: number,
    ownNode: string,
  ): UncleanEnd {
    const { logger } = this.#session;
    if (record.state === 'unreadable') {
      logger.warn({ path: this.#path }, 'the election record can not be read: taken for held');
    } else if (record.state === 'held' && record.node !== ownNode) {
      logger.info(
        { term: record.term, formerLeader: record.id },
        'the former leader ended uncleanly: waiting for its lease to end',
      );
    }
    return { version, seenAt };
  }

  /** `undefined`: the record isn't at that version, or nobody knows; look again. */
  async #tryClaim(
    contender: Contender,
    { term, version }: Foresight,
    signal: AbortSignal,
  ): Promise<Claim | undefined> {
    // Not held back until there is a connection: a claim that was given up must not go out later.
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
      const { value, sentAt } = await this.#session.commit([
        { kind: 'check', path: contender.own.path },
        { kind: 'set', path: this.#path, data, version },
      ]);
      const stat = value[1]?.stat;
      if (stat === undefined) return undefined;
      contender.own.confirm(sentAt);
      return { term, token: stat.mzxid, version: stat.version };
    } catch (error) {
      if (error instanceof BadVersionError) return undefined;
      if (!isUnanswered(error) && !(error instanceof NoNodeError)) throw error;
      // A check of our node that is committed: after it, the record tells whether the claim was carried out. It
      // rejects if the node is gone, and begins a lease otherwise. Who gives up here leaves as after an unclean end.
      await contender.own.renew(signal);
      return undefined;
    }
  }
}
