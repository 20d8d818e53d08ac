import { BadVersionError, NoNodeError, ZooKeeperError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { heartbeatNodeOf } from '../../lock/queue/heartbeat-node.js';
import type { Abortable } from '../../platform/async/lazy-abort.js';
import { abortable } from '../../platform/async/promises.js';
import { isUnanswered } from '../../session/operations.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { TransactionPart } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import { handOverToPreferred } from '../successor/hand-over-to-preferred.js';
import type { SuccessorSearch } from '../successor/successor-search.js';
import type { Claim } from '../term/claim.js';
import { FailureDetector, type LeaderFailure } from './failure-detector.js';
import { LastObservation } from './lease-observation.js';

/** How a candidate replaces leaders that end uncleanly. See the elector's options of the same names. */
export interface ClaimOptions {
  readonly takeover: 'lease' | 'session';
  readonly takeoverDelayMs: number | undefined;
  /** @default the session's */
  readonly logger?: Session['logger'];
  /**
   * Called when the candidate waits, or has waited, for the end of the lease of a leader that ended without a release.
   * Must not throw.
   */
  readonly onTakeoverWait?: () => void;
}

/** Receives the news about leaders, for a candidate that waits. */
export interface LeaderListener {
  /** A leader has failed. The candidate is to claim. */
  onFailure(failure: LeaderFailure): void;
  /** See {@link FailureDetectorOptions.onThird}. */
  onThird?(): void;
}

/** Takes over from leaders whose lease is over though their session lives, for one candidate and one record. */
export class Takeover {
  readonly #session: Session;
  readonly #recordPath: string;
  readonly #seat: number;
  readonly #options: ClaimOptions;
  readonly #search: SuccessorSearch;
  readonly #lastObservation = new LastObservation();
  /**
   * Set when the servers refuse to let this candidate delete a leader: the transaction that wrote that leader's record.
   */
  #refusedAt: bigint | undefined;

  constructor(
    session: Session,
    recordPath: string,
    seat: number,
    options: ClaimOptions,
    search: SuccessorSearch,
  ) {
    this.#session = session;
    this.#recordPath = recordPath;
    this.#seat = seat;
    this.#options = options;
    this.#search = search;
  }

  /** The detector that follows the leader of this record; none for a candidate that waits for the end of sessions. */
  detectors(contender: Contender, { onFailure, onThird }: LeaderListener): FailureDetector[] {
    const { takeover, takeoverDelayMs: leastDelayMs = 0 } = this.#options;
    if (takeover === 'session') return [];
    const place = { contender, recordPath: this.#recordPath, seat: this.#seat };
    const isRefused = ({ zxid }: { zxid: bigint }) => zxid === this.#refusedAt;
    const options = { ...place, lastObservation: this.#lastObservation, leastDelayMs, isRefused };
    return [new FailureDetector({ ...options, onFailure, ...(onThird && { onThird }) })];
  }

  /**
   * Claims the next term, or hands it over to a candidate with a higher priority. Returns `undefined` if that candidate
   * leads now. Also returns `undefined` if nothing was done, because there was another heartbeat, the leader has gone,
   * or another candidate has claimed. And it does so if the outcome isn't known; then the record shows it.
   * @param claim - claims in one transaction with these parts
   */
  async carryOut(
    contender: Contender,
    failure: LeaderFailure,
    signal: Abortable,
    claim: (deletions: TransactionPart[]) => Promise<Claim | undefined>,
  ): Promise<Claim | undefined> {
    const { record, version, zxid, connection } = failure.leader;
    const { clock } = this.#session;
    const { logger = this.#session.logger, onTakeoverWait } = this.#options;
    onTakeoverWait?.();
    logger.info(
      {
        ...{ term: record.term, formerLeader: record.id ?? record.node },
        silentMs: Math.round(clock.now() - failure.silentSince),
      },
      'no heartbeat from the leader for longer than its lease: taking over',
    );
    const deletions = deletionsOf(contender.queue, failure);
    try {
      const term = { record: this.#recordPath, version, term: record.term + 1, connection };
      const handing = handOverToPreferred(contender, this.#search, term, record.node, deletions);
      const preferred = await abortable(handing, signal).catch((error: unknown) => {
        if (!(error instanceof ZooKeeperError)) throw error;
        return undefined; // The preferred candidate has left, or its node may not be written: this candidate claims.
      });
      if (preferred === undefined) return await claim(deletions);
    } catch (error) {
      if (isNoAuth(error)) {
        this.#refusedAt = zxid;
        const path = this.#session.absolute(contender.queue);
        logger.warn(
          { path },
          "this session may not delete the leader's node: waiting for the end of the leader's session",
        );
      } else if (!(error instanceof NoNodeError || error instanceof BadVersionError || isUnanswered(error))) {
        throw error;
      }
    }
    return undefined;
  }
}

/**
 * The parts of a transaction that takes over from a leader. If there was another heartbeat after the version was seen,
 * the servers refuse the first part, and with it the whole transaction. If there was none, none can follow: a heartbeat
 * needs both nodes.
 */
export function deletionsOf(queue: string, { leader, heartbeatVersion }: LeaderFailure): TransactionPart[] {
  const { node } = leader.record;
  return [
    { kind: 'delete', path: `${queue}/${heartbeatNodeOf(node)}`, version: heartbeatVersion },
    { kind: 'delete', path: `${queue}/${node}` },
  ];
}
