import { ZooKeeperError } from '../errors.js';
import type { Beating } from '../lease/failure-detector.js';
import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import { abortable, abortableLate } from '../platform/async/promises.js';
import { isUnanswered } from '../session/operations.js';
import { isNoAuth } from '../session/protocol/error-codes.js';
import type { TransactionPart } from '../session/protocol/multi-and-stats.js';
import {
  isOutdated,
  type RecordWrite,
  type Sender,
  type SwapOutcome,
  swap,
} from '../session/versioned-records.js';
import type { SuccessorSearch } from './candidates/successor-search.js';
import type { ClaimStep, EmptyStep } from './decide-next-step.js';
import type { ResolvedElectorOptions } from './elector-options.js';
import type { LeaderMonitor } from './leader-monitor.js';
import type { Beginning, HeldRecord, SeenRecord } from './record/election-record.js';
import { claimOf, emptyingOf, handoverOf, takeoverParts } from './term/claim-and-release-writes.js';

/** What the claims of a candidate need of its elector. */
export interface ClaimsHost {
  readonly options: Pick<ResolvedElectorOptions, 'id' | 'logger'>;
  /** See `WaitListener`. */
  onTakeoverWait(): void;
}

/** Sends the claims of one candidate. */
export class ClaimSender {
  readonly #record: LeaderMonitor;
  readonly #search: SuccessorSearch;
  readonly #host: ClaimsHost;

  constructor(record: LeaderMonitor, search: SuccessorSearch, host: ClaimsHost) {
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
    const former = over.value;
    const holder = former.state === 'held' && former.node !== entry.node ? former : undefined;
    if (instead !== undefined && holder !== undefined) this.#reportTakeover(holder, instead);
    const ending =
      instead === undefined || holder === undefined ? [] : takeoverParts(queue, holder.node, instead);
    if (holder !== undefined && (await this.#passOn({ over, instead }, holder, ending, signal)))
      return this.#record.mayHaveChanged();
    const { leaseMs } = session;
    const began = beginning(over, entry.node, instead);
    const held = { term: nextTerm(over), id: this.#host.options.id, began, node: entry.node, leaseMs };
    // A candidate that is stopped waits no longer than this: finding a dead link may take much longer than a lease.
    const commit = (parts: readonly TransactionPart[]) => {
      const claiming = node.beginTerm(parts, { path: queue, version: over.version + 1 });
      return abortableLate(session.clock, claiming, leaseMs, signal);
    };
    const outcome = await this.#swap(claimOf(this.#writable(over), held, ending), signal, commit);
    const isProtected =
      outcome.kind === 'refused' && isNoAuth(outcome.error) && outcome.error.path !== session.absolute(queue);
    if (outcome.kind === 'written') this.#record.learn({ value: { state: 'held', ...held }, ...outcome });
    else if (isProtected && ending.length > 0) this.#reportProtected();
    else this.#notWritten(outcome, over);
  }

  /**
   * Empties a record that can't be read. From then on the candidate waits for the lease of a leader that may have held it.
   * @throws as {@link send} does
   */
  async empty({ over }: EmptyStep, signal: Abortable): Promise<void> {
    const { value } = over;
    const outcome = await this.#swap(emptyingOf(this.#writable(over)), signal);
    if (outcome.kind !== 'written') return this.#notWritten(outcome, over);
    this.#record.learn({ value: { state: 'unreadable', isEmpty: true }, ...outcome });
    if (value.state === 'unreadable' && value.format !== undefined) this.#reportFormat(value.format);
  }

  #writable({ version, connection }: SeenRecord) {
    return { path: this.#contender.queue, version, connection };
  }

  async #swap(change: RecordWrite, signal: Abortable, commit?: Sender['commit']): Promise<SwapOutcome> {
    const { session, node } = this.#contender;
    const outcomes = await swap(session, [change], {
      commit: commit ?? ((parts) => abortable(node.commit(parts), signal)),
      // A contender that gives up here leaves as after an unclean end.
      barrier: () => session.retryUntilAnswered(() => node.commit([]), signal),
    });
    return outcomes.get(change.path) as SwapOutcome;
  }

  /** The next look shows more. @throws the server's refusal, unless something was written since */
  #notWritten(outcome: Exclude<SwapOutcome, { kind: 'written' }>, over: SeenRecord): void {
    if (outcome.kind === 'refused' && !isOutdated(outcome.error)) throw outcome.error;
    if (outcome.kind === 'unsure' || outcome.error === undefined) return this.#record.mayHaveChanged();
    const { session, queue } = this.#contender;
    this.#record.refused(outcome.error.path === session.absolute(queue) ? over : undefined);
  }

  /**
   * Hands the term to a candidate with a higher priority than this one, instead of claiming it. Returns whether the record is to be read
   * again.
   */
  async #passOn(
    { over, instead }: Omit<ClaimStep, 'do'>,
    holder: HeldRecord,
    ending: readonly TransactionPart[],
    signal: Abortable,
  ): Promise<boolean> {
    const failed = { zxid: over.zxid, proofs: this.#record.holderProofs };
    try {
      const searching = this.#search.preferredTo(this.#contender, holder.node, failed);
      const preferred = await abortable(searching, signal);
      if (preferred === undefined) return false;
      const began = beginning(over, this.#contender.entry.node, instead);
      const handing = handoverOf(this.#writable(over), preferred, nextTerm(over), ending, began);
      const { kind } = await this.#swap(handing, signal);
      return kind === 'written' || kind === 'unsure'; // Else that candidate has left, or its node may not be written.
    } catch (error) {
      if (isUnanswered(error)) return true;
      if (error instanceof ZooKeeperError) return false;
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

  #reportFormat(format: number): void {
    this.#host.options.logger.warn(
      { path: this.#contender.session.absolute(this.#contender.queue), format },
      "emptied the election's record: another release of Conclave had written it in a format that this one can't read",
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
