import type { EphemeralNode } from '../../lease/ephemeral-node.js';
import { ignore } from '../../platform/async/promises.js';
import type { Logger } from '../../platform/logging/logger.js';
import type { ReadRecord } from '../nodes/record.js';

/** An unclean end, as it was seen first: the record is as this transaction wrote it, and its holder's node is gone. */
export interface UncleanEnd {
  /**
   * The transaction that wrote the record. The record's version wouldn't do: it begins anew when the election is
   * deleted and created again.
   */
  readonly zxid: bigint;
  readonly seenAt: number;
}

/**
 * How long a candidate waits after an unclean end before it claims, in milliseconds. The delay counts from when this
 * candidate itself saw that the former leader's node was gone. It is that leader's lease, 3 % more for clocks whose
 * rates differ by 1 % at most, and a margin of 50 ms.
 *
 * Why that is enough: the leader's newest heartbeat was committed before its node was deleted, and was sent before
 * that. So its lease began before the observation, and ends before the delay does (Chubby's lock-delay).
 */
export function takeoverDelayMs(leaseMs: number): number {
  return leaseMs * 1.03 + 50;
}

/** Whether the node's lease has been over for so long that another holder may act. */
export function mayBeReplaced(node: ProvenFor): boolean {
  if (node.remainingAtMostMs() > 0) return false; // Costs less, and is mostly so.
  return node.proofAgeMs() >= takeoverDelayMs(node.leaseMs);
}

type ProvenFor = Pick<EphemeralNode, 'leaseMs' | 'remainingAtMostMs' | 'proofAgeMs'>;

/**
 * The newest unclean end that a candidate has seen at one record. Its delay counts from the first read that showed it.
 */
export class UncleanEndNote {
  readonly #logger: Logger;
  readonly #recordPath: string;
  readonly #onWait: () => void;
  #end: UncleanEnd | undefined;
  #reportedAt: bigint | undefined;

  /** @param onWait - called when the candidate begins to wait out an unclean end */
  constructor(logger: Logger, recordPath: string, onWait: () => void = ignore) {
    this.#logger = logger;
    this.#recordPath = recordPath;
    this.#onWait = onWait;
  }

  /** Whether the unclean end that the candidate sees now is a new one. Notes a new one. */
  isNew(zxid: bigint, now: number): boolean {
    if (this.#end?.zxid === zxid) return false;
    this.#end = { zxid, seenAt: now };
    return true;
  }

  /** The end that was noted last. */
  get end(): UncleanEnd {
    return this.#end as UncleanEnd;
  }

  /**
   * Reports that the candidate waits out the unclean end, once for each end. @param waitMs - the rest of the wait, in
   * milliseconds
   */
  report(record: ReadRecord, waitMs: number): void {
    if (this.#reportedAt === this.#end?.zxid) return;
    this.#reportedAt = this.#end?.zxid;
    this.#onWait();
    if (record.state === 'unreadable') {
      this.#logger.warn(
        { path: this.#recordPath },
        "the election record can't be read: assuming that a leader holds it",
      );
    } else if (record.state === 'held') {
      const formerLeader = record.id ?? record.node;
      const message = 'the former leader ended uncleanly: waiting for its lease to end';
      this.#logger.info({ term: record.term, formerLeader, waitMs: Math.round(waitMs) }, message);
    }
  }
}
