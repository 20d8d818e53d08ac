import type { ElectionRecord, UnreadableRecord } from './record.js';

/**
 * What the first in the queue may do about the record it has read. Pure, because it is where two leaders at once
 * would come from.
 */
export type ClaimStep =
  /** Claim this term, if the record is still at this version. */
  | { readonly kind: 'claim'; readonly term: number; readonly version: number }
  /** An earlier claim of ours has succeeded, though its reply was lost. */
  | { readonly kind: 'ours'; readonly term: number; readonly version: number }
  /** The former leader ended uncleanly and may still act on its lease: look again in so many milliseconds. */
  | { readonly kind: 'wait'; readonly ms: number };

/** An unclean end, seen for the first time: the record at this version, its holder's node gone. */
export interface UncleanEnd {
  readonly version: number;
  readonly seenAt: number;
}

/** What is known when the record has been read. */
export interface ClaimSituation {
  readonly record: ElectionRecord | UnreadableRecord;
  /** The record's version, as read together with it. */
  readonly version: number;
  /** The name of our own node. */
  readonly ownNode: string;
  /** The unclean end that is being waited out. It counts for its own version of the record only. */
  readonly unclean: UncleanEnd;
  readonly now: number;
  /** How long an unclean end is waited out. */
  readonly delayMs: number;
}

/**
 * How long to wait after an unclean end before claiming, counted from one's own observation that the former leader's
 * node is gone: its lease, with 3 % for clocks whose rates differ by 1 % at most, and a margin.
 *
 * Why that is enough: the newest heartbeat that it acts on was committed before its node was deleted, and was sent
 * before that; so its lease began before the observation, and ends before the delay does (Chubby's lock-delay).
 */
export function takeoverDelayMs(leaseMs: number): number {
  return leaseMs * 1.03 + 50;
}

/** Asked by the first in the queue, when the holder that the record names has no node any more. */
export function nextClaimStep(situation: ClaimSituation): ClaimStep {
  const { record, version, ownNode, unclean, now, delayMs } = situation;
  if (record.state === 'vacant') return { kind: 'claim', term: record.term + 1, version };
  if (record.state === 'held' && record.node === ownNode) return { kind: 'ours', term: record.term, version };
  const waitedMs = unclean.version === version ? now - unclean.seenAt : 0;
  if (waitedMs < delayMs) return { kind: 'wait', ms: delayMs - waitedMs };
  return { kind: 'claim', term: nextTerm(record, version), version };
}

/**
 * The term after a record that can't be read is its version plus one: every claim writes the record once, so no
 * earlier term can have been higher.
 */
function nextTerm(record: ElectionRecord | UnreadableRecord, version: number): number {
  return record.state === 'unreadable' ? version + 1 : record.term + 1;
}

/** What a waiter that is next in line has learned about the record. */
export interface Foresight {
  readonly term: number;
  readonly version: number;
}

/**
 * Claims and releases alternate. So who has read the record as held by the very node it waits for knows what a clean
 * release will leave behind, and may claim that without reading again: if it succeeds the release was clean. A record
 * that said anything else allows no such guess: the next write may be a claim, whose end would then be taken for clean.
 */
export function foresee(
  record: ElectionRecord | UnreadableRecord,
  version: number,
  ahead: string,
): Foresight | undefined {
  if (record.state !== 'held' || record.node !== ahead) return undefined;
  return { term: record.term + 1, version: version + 1 };
}
