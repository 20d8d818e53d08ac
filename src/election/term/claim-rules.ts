import type { ReadRecord } from '../nodes/record.js';
import type { UncleanEnd } from './takeover-delay.js';

/**
 * What the first in the queue may do, by the record that it has read. A pure decision: a mistake would make two leaders
 * at once.
 */
export type ClaimStep =
  /** Claim this term, if the record is still at this version. */
  | { readonly kind: 'claim'; readonly term: number; readonly version: number }
  /** This candidate holds the term. A leader handed it over, or an earlier claim succeeded and its reply was lost. */
  | { readonly kind: 'ours' }
  /** The former leader ended uncleanly and may still act on its lease: read again in `ms` milliseconds. */
  | { readonly kind: 'wait'; readonly ms: number };

/** The record as it was read, with its version and the transaction that wrote it. */
export interface RecordRead {
  readonly record: ReadRecord;
  readonly version: number;
  readonly zxid: bigint;
}

/** What a candidate knows when it has read the record. */
export interface ClaimSituation extends RecordRead {
  /** The name of this candidate's node. */
  readonly ownNode: string;
  /** The unclean end that the candidate waits out. It counts only for the record that its transaction wrote. */
  readonly unclean: UncleanEnd;
  readonly now: number;
  /** How long the candidate waits after an unclean end, in milliseconds. */
  readonly delayMs: number;
  /**
   * Whether another client deleted this candidate's node. Then a record without a term may be a new one: another client
   * may have deleted the election, with its record, while a candidate led, and the election was created again.
   */
  readonly placeLost: boolean;
}

/** The next step of the candidate whose turn it is, when the node of the record's holder is gone. */
export function nextClaimStep(situation: ClaimSituation): ClaimStep {
  const { record, version, zxid, ownNode, unclean, now, delayMs, placeLost } = situation;
  if (record.state === 'vacant' && !(record.term === 0 && placeLost))
    return { kind: 'claim', term: record.term + 1, version };
  if (record.state === 'held' && record.node === ownNode) return { kind: 'ours' };
  const waitedMs = unclean.zxid === zxid ? now - unclean.seenAt : 0;
  if (waitedMs < delayMs) return { kind: 'wait', ms: delayMs - waitedMs };
  return { kind: 'claim', term: nextTerm(record, version), version };
}

/**
 * After an unreadable record it is the record's version plus one. Every claim writes the record, so no earlier term can
 * have been higher.
 */
function nextTerm(record: ReadRecord, version: number): number {
  return record.state === 'unreadable' ? version + 1 : record.term + 1;
}
