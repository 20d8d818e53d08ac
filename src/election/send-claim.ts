import { BadVersionError, NoNodeError, ZooKeeperError } from '../errors.js';
import type { Beating } from '../lease/silence.js';
import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import { abortable, abortableLate } from '../platform/async/promises.js';
import { isUnanswered } from '../session/operations.js';
import { isNoAuth } from '../session/protocol/error-codes.js';
import type { TransactionPart } from '../session/protocol/records.js';
import type { SuccessorSearch } from './candidates/find-next-leader.js';
import type { ClaimStep, EmptyStep, HeldRecord } from './decide.js';
import type { ResolvedElectorOptions } from './elector-options.js';
import type { FollowedRecord } from './follow-record-and-holder.js';
import type { Beginning, SeenRecord } from './record/record.js';
import { claimParts, emptyPart, handOverParts, seenAfter, takeoverParts } from './term/transactions.js';

/** What the claims of a candidate need of its elector. */
export interface ClaimsHost {
  readonly options: Pick<ResolvedElectorOptions, 'id' | 'logger'>;
  /** See `KnownRecord`. A claim that is carried out leaves nothing in doubt. */
  placeLost: boolean;
  /** See `WaitListener`. */
  onTakeoverWait(): void;
}

/** Sends the claims of one candidate. */
export class Claims {
  readonly #record: FollowedRecord;
  readonly #search: SuccessorSearch;
  readonly #host: ClaimsHost;
  /** The record for which a preferred candidate was last looked for. */
  #preferredAt: bigint | undefined;

  constructor(record: FollowedRecord, search: SuccessorSearch, host: ClaimsHost) {
    this.#record = record;
    this.#search = search;
    this.#host = host;
  }

  /**
   * Sends a claim, in a single transaction. The next look shows what came of it if it isn't answered.
   * @throws NodeLostError, a server's refusal, the error that ended the session, or the signal's reason, a lease after the abort
   */
  async send({ over, instead }: ClaimStep, signal: Abortable): Promise<void> {
    const { session, node, entry, queue } = this.#contender;
    const { value } = over;
    const holder = value.state === 'held' && value.node !== entry.node ? value : undefined;
    if (instead !== undefined && holder !== undefined) this.#reportTakeover(holder, instead);
    const deletions =
      instead === undefined || holder === undefined ? [] : takeoverParts(queue, holder.node, instead);
    try {
      if (holder !== undefined && (await this.#passOn({ over, instead }, holder, deletions, signal)))
        return this.#record.mayHaveChanged();
      // Over another connection, the record may come from a restored backup, and have that version by another candidate's claim.
      if (session.connectionNumber !== over.connection) return this.#record.mayHaveChanged();
      const { leaseMs } = session;
      const held = {
        ...{ term: nextTerm(over), id: this.#host.options.id, began: beginning(over, entry.node, instead) },
        ...{ node: entry.node, leaseMs },
      };
      const parts = [...deletions, claimParts({ path: queue, version: over.version }, held)];
      const claiming = node.beginTerm(parts, { path: queue, version: over.version + 1 });
      // A candidate that is stopped waits no longer than this: finding a dead link may take much longer than a lease.
      const reply = await abortableLate(session.clock, claiming, leaseMs, signal);
      const seen = seenAfter({ state: 'held', ...held }, reply, over.connection);
      this.#host.placeLost = false;
      this.#record.learn(seen);
    } catch (error) {
      if (isNoAuth(error) && holder !== undefined && instead !== undefined) this.#reportProtected();
      else await this.#failed(error, over, signal);
    }
  }

  /**
   * Empties a record that can't be read. From then on the candidate waits for the lease of a leader that may have held it.
   * @throws as {@link send} does
   */
  async empty({ over }: EmptyStep, signal: Abortable): Promise<void> {
    const { node, queue } = this.#contender;
    try {
      const emptying = node.commit([emptyPart({ path: queue, version: over.version })]);
      const reply = await abortable(emptying, signal);
      this.#record.learn(seenAfter({ state: 'unreadable', isEmpty: true }, reply, over.connection));
    } catch (error) {
      await this.#failed(error, over, signal);
    }
  }

  /** A write over that record was refused, or not answered. The next look shows more. @throws any other error */
  async #failed(error: unknown, over: SeenRecord, signal: Abortable): Promise<void> {
    const { session, node, queue } = this.#contender;
    if (error instanceof BadVersionError || error instanceof NoNodeError)
      return this.#record.refused(error.path === session.absolute(queue) ? over : undefined);
    if (!isUnanswered(error)) throw error;
    // After this write, the record shows whether the servers carried the other one out. A contender that gives up here leaves as after
    // an unclean end.
    await session.retryUntilAnswered(() => node.commit([]), signal);
    this.#record.mayHaveChanged();
  }

  /**
   * Hands the term to a candidate with a higher priority than this one, instead of claiming it. Looks for one once for each record, and
   * for each takeover. Returns whether the record is to be read again.
   */
  async #passOn(
    { over, instead }: Omit<ClaimStep, 'do'>,
    holder: HeldRecord,
    deletions: readonly TransactionPart[],
    signal: Abortable,
  ): Promise<boolean> {
    const { session, node, entry, queue } = this.#contender;
    if (instead === undefined && this.#preferredAt === over.zxid) return false;
    this.#preferredAt = over.zxid;
    const failed = { zxid: over.zxid, proofs: this.#record.holderProofs };
    try {
      const preferred = await abortable(
        this.#search.preferredTo(this.#contender, holder.node, failed),
        signal,
      );
      if (preferred === undefined || session.connectionNumber !== over.connection) return false;
      const handing = handOverParts(
        queue,
        { path: queue, version: over.version },
        preferred,
        nextTerm(over),
        beginning(over, entry.node, instead),
      );
      await abortable(node.commit([...deletions, ...handing]), signal);
      return true;
    } catch (error) {
      if (isUnanswered(error)) return true;
      if (error instanceof ZooKeeperError) return false; // That candidate has left, or its node may not be written.
      throw error;
    }
  }

  get #contender() {
    return this.#record.host.contender;
  }

  #reportTakeover({ term, id, node }: HeldRecord, { since }: Beating): void {
    this.#host.onTakeoverWait();
    const silentMs = Math.round(this.#contender.session.clock.now() - since);
    this.#host.options.logger.info(
      { term, formerLeader: id ?? node, silentMs },
      'no heartbeat from the leader for longer than its lease: taking over',
    );
  }

  #reportProtected(): void {
    this.#host.options.logger.warn(
      { path: this.#contender.session.absolute(this.#contender.queue) },
      "this session may not delete the leader's node: waiting for the end of the leader's session",
    );
    this.#record.protect();
  }
}

/** How a term begins that is claimed over this record by the candidate whose node is `own`. */
function beginning({ value }: SeenRecord, own: string, instead: Beating | undefined): Beginning | undefined {
  if (value.state === 'vacant') return 'vacant';
  // The record of a handover had a lease that is shorter than the candidate's.
  if (value.state === 'held' && value.node === own) return value.began;
  return instead === undefined ? 'failover' : 'takeover';
}

/**
 * After an unreadable record it is the record's version plus one. Every claim writes the record, so no earlier term can have been higher.
 */
function nextTerm({ value, version }: SeenRecord): number {
  return value.state === 'unreadable' ? version + 1 : value.term + 1;
}
