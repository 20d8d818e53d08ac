import type { ReadRecord } from '../nodes/record.js';
import type { UncleanEnd } from './takeover-delay.js';

/** What the first in the queue may do, by the record it has read. A pure decision: a mistake would make two leaders at once. */
export type ClaimStep =
  /** Claim this term, if the record is still at this version. */
  | { readonly kind: 'claim'; readonly term: number; readonly version: number }
  /** This candidate holds the term: it was handed over, or an earlier claim has succeeded though its reply was lost. */
  | { readonly kind: 'ours' }
  /** The former leader ended uncleanly and may still act on its lease: read again in so many milliseconds. */
  | { readonly kind: 'wait'; readonly ms: number };

/** The record as it was read, with its version and the transaction that wrote it. */
export interface RecordRead {
  readonly record: ReadRecord;
  readonly version: number;
  readonly zxid: bigint;
}

/** What is known when the record has been read. */
export interface ClaimSituation extends RecordRead {
  /** The name of this candidate's node. */
  readonly ownNode: string;
  /** The unclean end that is being waited out. It counts only for the record that its transaction wrote. */
  readonly unclean: UncleanEnd;
  readonly now: number;
  /** How long an unclean end is waited out. */
  readonly delayMs: number;
  /**
   * Whether another client deleted this candidate's node. Then an election whose record shows no term yet may be one that
   * was deleted while a candidate led it, with its record, and created again.
   */
  readonly placeLost: boolean;
}

/** The next step of the candidate whose turn it is, once the node of the holder that the record names is gone. */
export function nextClaimStep(situation: ClaimSituation): ClaimStep {
  const { record, version, zxid, ownNode, unclean, now, delayMs, placeLost } = situation;
  if (record.state === 'vacant' && !(record.term === 0 && placeLost))
    return { kind: 'claim', term: record.term + 1, version };
  if (record.state === 'held' && record.node === ownNode) return { kind: 'ours' };
  const waitedMs = unclean.zxid === zxid ? now - unclean.seenAt : 0;
  if (waitedMs < delayMs) return { kind: 'wait', ms: delayMs - waitedMs };
  return { kind: 'claim', term: nextTerm(record, version), version };
}

/** After an unreadable record, its version plus one: every claim writes the record, so no earlier term can have been higher. */
function nextTerm(record: ReadRecord, version: number): number {
  return record.state === 'unreadable' ? version + 1 : record.term + 1;
}
