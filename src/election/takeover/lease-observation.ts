import type { Stat } from '../../session/protocol/records.js';
import type { ElectionRecord } from '../nodes/record.js';
import { takeoverDelayMs } from '../term/takeover-delay.js';

/** A held record, as it was read. */
export interface HeldRecord {
  readonly record: Extract<ElectionRecord, { state: 'held' }>;
  readonly version: number;
  /** The transaction that wrote it. */
  readonly zxid: bigint;
  /** The number of the session's connection over which it was last read. */
  readonly connection: number | undefined;
}

/** The result of the reads of a leader's heartbeat node so far. Instants are by the reader's clock. */
export interface LeaseObservation {
  /** The version in the newest answer. */
  readonly version: number;
  /** The transaction that wrote it. In a restored backup a version comes again, by another heartbeat. */
  readonly zxid: bigint;
  /** When the first answer with that version of that transaction had come. */
  readonly since: number;
  /** When the newest read with that version was about to be sent. */
  readonly readAt: number;
  /** The number of the session's connection over which the node was asked for last. */
  readonly connection: number | undefined;
}

/** A read of a heartbeat node: sent at `readAt` over that connection, and answered at `now`. */
export interface HeartbeatRead extends Pick<LeaseObservation, 'readAt' | 'connection'> {
  readonly now: number;
}

/** The next observation, after a read that has shown the node. */
export function observed(
  before: LeaseObservation | undefined,
  { version, mzxid: zxid }: Pick<Stat, 'version' | 'mzxid'>,
  { readAt, now, connection }: HeartbeatRead,
): LeaseObservation {
  const isSame = before?.version === version && before.zxid === zxid;
  return { version, zxid, since: isSame ? before.since : now, readAt, connection };
}

/**
 * The newest observation of a leader. It counts as long as the record is the one that this transaction wrote. It still
 * counts after the candidate's place in the queue has changed, or after the candidate has stopped following the leader
 * for a while: the proof of the takeover needs only the same record.
 */
export class LastObservation {
  #zxid: bigint | undefined;
  #observation: LeaseObservation | undefined;

  /** @param zxid - the transaction that wrote the record */
  of(zxid: bigint): LeaseObservation | undefined {
    return this.#zxid === zxid ? this.#observation : undefined;
  }

  note(zxid: bigint, observation: LeaseObservation): void {
    this.#zxid = zxid;
    this.#observation = observation;
  }

  /** Makes the next observation begin anew. */
  forget(): void {
    this.#observation = undefined;
  }
}

export interface TakeoverSituation extends LeaseObservation {
  readonly now: number;
  /** The leader's lease by its record, in milliseconds. */
  readonly leaderLeaseMs: number;
  /** The least delay by the candidate's options, in milliseconds. */
  readonly leastDelayMs: number;
  /** How many candidates come before this one. Each of them has the time of one delay to claim. */
  readonly rank: number;
  /** The candidate's own lease, and the rest of it, in milliseconds. */
  readonly ownLeaseMs: number;
  readonly ownRemainingMs: number;
}

export type TakeoverStep =
  /** The leader's lease may last, or another candidate may claim: look again in `ms` milliseconds. */
  | { readonly kind: 'wait'; readonly ms: number }
  /**
   * The lease is over. But the servers may have been hanging, too: wait for the next heartbeat and the read
   * behind it.
   */
  | { readonly kind: 'prove' }
  /** The lease is over, and the servers commit writes. */
  | { readonly kind: 'claim' };

/**
 * What a candidate may do about a leader, after it has seen the same version for a while. A pure decision: a mistake
 * would make two leaders at once.
 *
 * The leader's newest heartbeat was committed before the version was seen, and was sent before that. So its lease began
 * before `since`, and ends before the delay does. The servers carry the claim out only if the version is still the
 * same.
 */
export function takeoverStep(situation: TakeoverSituation): TakeoverStep {
  const { since, readAt, now, leaderLeaseMs, leastDelayMs, rank, ownLeaseMs, ownRemainingMs } = situation;
  const claimAt = since + (rank + 1) * Math.max(leastDelayMs, takeoverDelayMs(leaderLeaseMs));
  if (now < claimAt) return { kind: 'wait', ms: claimAt - now };
  // If the servers hang, they carry a claim out only when the claimant's own lease is over. Such a claim is
  // of no use.
  const isProven = now - readAt < ownLeaseMs / 2 && ownRemainingMs > ownLeaseMs / 2;
  return { kind: isProven ? 'claim' : 'prove' };
}

/**
 * How many candidates come before a candidate that `position` nodes ahead in the queue block. The leader doesn't count.
 * It is ahead of the others, or behind them if the term was handed over to it. `undefined` if the candidate is too far
 * behind to take over.
 */
export function rankOf(position: number, isLeaderAhead: boolean): number | undefined {
  const rank = Math.max(0, position - (isLeaderAhead ? 1 : 0));
  return rank < MOST_RANKS ? rank : undefined;
}

const MOST_RANKS = 2; // The next in line, and the third: the leader's host may have taken the next in line with it.
