import type { ElectionRecord, UnreadableRecord } from '../nodes/record.js';
import type { UncleanEnd } from './takeover-delay.js';

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
  | { readonly kind: 'wait'; readonly ms: number }
  /** The former leader has named another one: let that one lead before, if it is there. */
  | { readonly kind: 'defer'; readonly to: string };

/** What is known when the record has been read. */
export interface ClaimSituation {
  readonly record: ElectionRecord | UnreadableRecord;
  /** The record's version, as read together with it. */
  readonly version: number;
  /** The transaction that wrote it. */
  readonly zxid: bigint;
  /** The name of our own node. */
  readonly ownNode: string;
  /** The unclean end that is being waited out. It counts for the record of its own transaction only. */
  readonly unclean: UncleanEnd;
  readonly now: number;
  /** How long an unclean end is waited out. */
  readonly delayMs: number;
  /** Whether this record was deferred to already: the one it names didn't take its turn. */
  readonly deferred: boolean;
  /**
   * Whether this candidate's place was taken from it by a deletion. Then an election that nobody has led may be one
   * that was deleted under a leader, with its record, and made anew.
   */
  readonly placeLost: boolean;
}

/** Asked by whose turn it is, when the holder that the record names has no node any more. */
export function nextClaimStep(situation: ClaimSituation): ClaimStep {
  const { record, version, zxid, ownNode, unclean, now, delayMs, deferred, placeLost } = situation;
  if (record.state === 'vacant' && !(record.term === 0 && placeLost)) {
    const { successor, term } = record;
    if (successor !== undefined && successor !== ownNode && !deferred)
      return { kind: 'defer', to: successor };
    return { kind: 'claim', term: term + 1, version };
  }
  if (record.state === 'held' && record.node === ownNode) return { kind: 'ours', term: record.term, version };
  const waitedMs = unclean.zxid === zxid ? now - unclean.seenAt : 0;
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
