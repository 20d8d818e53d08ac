import type { ElectionRecord } from '../nodes/record.js';
import { takeoverDelayMs } from '../term/takeover-delay.js';

/** A record that is held, as it was read. */
export interface HeldRecord {
  readonly record: Extract<ElectionRecord, { state: 'held' }>;
  readonly version: number;
  /** The transaction that wrote it. */
  readonly zxid: bigint;
  /** The number of the session's connection that has shown it last. */
  readonly connection: number | undefined;
}

/** What the reads of a leader's heartbeat node have shown so far. Instants are by the reader's clock. */
export interface LeaseObservation {
  /** The version that the newest answer showed. */
  readonly version: number;
  /** When the answer that showed it first had come. */
  readonly since: number;
  /** When the newest read that showed it was sent. */
  readonly readAt: number;
}

/** A read that was sent at `readAt` has shown `version`; it is `now` that its answer has come. */
export function observed(
  before: LeaseObservation | undefined,
  version: number,
  { readAt, now }: { readonly readAt: number; readonly now: number },
): LeaseObservation {
  return { version, since: before?.version === version ? before.since : now, readAt };
}

/**
 * The newest observation of a leader. It counts as long as the record is the one of that transaction, also when the candidate's place in
 * the queue has changed, or the candidate has stopped following the leader for a while: the argument asks for no more than that.
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

  /** The next observation begins anew. */
  forget(): void {
    this.#observation = undefined;
  }
}

export interface TakeoverSituation extends LeaseObservation {
  readonly now: number;
  /** The leader's lease, as its record says. */
  readonly leaderLeaseMs: number;
  /** The least delay by the candidate's options. */
  readonly leastDelayMs: number;
  /** How many candidates come before this one: each of them has one delay's time to claim. */
  readonly rank: number;
  /** The candidate's own lease, and how much of it is left. */
  readonly ownLeaseMs: number;
  readonly ownRemainingMs: number;
}

export type TakeoverStep =
  /** The leader's lease may last, or another candidate may claim: look again in so many milliseconds. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** It is over. But the servers may have stood still, too: wait for the next heartbeat and the read behind it. */
  | { readonly kind: 'prove' }
  /** It is over, and the servers commit writes. */
  | { readonly kind: 'claim' };

/**
 * What a candidate may do about a leader of which it has seen that version for so long. A pure decision: a mistake would make
 * two leaders at once.
 *
 * The newest heartbeat that a lease can follow from was committed before the version was seen, and was sent before that. So
 * the lease began before `since`, and ends before the delay does. The claim is carried out only if the version is still the same.
 */
export function takeoverStep(situation: TakeoverSituation): TakeoverStep {
  const { since, readAt, now, leaderLeaseMs, leastDelayMs, rank, ownLeaseMs, ownRemainingMs } = situation;
  const claimAt = since + (rank + 1) * Math.max(leastDelayMs, takeoverDelayMs(leaderLeaseMs));
  if (now < claimAt) return { kind: 'wait', ms: claimAt - now };
  // A claim that is sent to servers that stand still is carried out when its own lease is over, and is of use to no candidate.
  const isProven = now - readAt < ownLeaseMs / 2 && ownRemainingMs > ownLeaseMs / 2;
  return { kind: isProven ? 'claim' : 'prove' };
}

/**
 * How many candidates come before one that has `position` nodes ahead in the queue which block it. The leader doesn't count:
 * it is ahead of the others in the queue, or behind them if the term was handed over to it. `undefined`: too many to take part.
 */
export function rankOf(position: number, isLeaderAhead: boolean): number | undefined {
  const rank = Math.max(0, position - (isLeaderAhead ? 1 : 0));
  return rank < MOST_RANKS ? rank : undefined;
}

const MOST_RANKS = 2; // The next in line, and the third, should the host of the leader have taken the next one with it.
