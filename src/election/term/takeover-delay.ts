import { ignore } from '../../platform/async/promises.js';
import type { Logger } from '../../platform/logging/logger.js';
import type { ReadRecord } from '../nodes/record.js';

/** An unclean end, seen for the first time: the record as this transaction wrote it, its holder's node gone. */
export interface UncleanEnd {
  /** Not its version: that begins anew when the election is deleted and made again. */
  readonly zxid: bigint;
  readonly seenAt: number;
}

/**
 * How long a candidate waits after an unclean end before it claims, counted from when it saw itself that the former
 * leader's node is gone: that leader's lease, with 3 % for clocks whose rates differ by 1 % at most, and a margin.
 *
 * Why that is enough: the newest heartbeat on which the leader acts was committed before its node was deleted, and was
 * sent before that. So its lease began before the observation, and ends before the delay does (Chubby's lock-delay).
 */
export function takeoverDelayMs(leaseMs: number): number {
  return leaseMs * 1.03 + 50;
}

/** The newest unclean end that a candidate has seen of one record: its delay counts from the first look. */
export class UncleanEndNote {
  readonly #logger: Logger;
  readonly #recordPath: string;
  readonly #onWait: () => void;
  #end: UncleanEnd | undefined;
  #reportedAt: bigint | undefined;

  /** @param onWait - called when an end begins to be waited out */
  constructor(logger: Logger, recordPath: string, onWait: () => void = ignore) {
    this.#logger = logger;
    this.#recordPath = recordPath;
    this.#onWait = onWait;
  }

  /** Whether an end at that record, seen now, is a new one: then it is noted. */
  isNew(zxid: bigint, now: number): boolean {
    if (this.#end?.zxid === zxid) return false;
    this.#end = { zxid, seenAt: now };
    return true;
  }

  /** The end that was noted last. */
  get end(): UncleanEnd {
    return this.#end as UncleanEnd;
  }

  /** Reports that it is being waited out, once for each. @param waitMs - for how long */
  report(record: ReadRecord, waitMs: number): void {
    if (this.#reportedAt === this.#end?.zxid) return;
    this.#reportedAt = this.#end?.zxid;
    this.#onWait();
    if (record.state === 'unreadable') {
      this.#logger.warn({ path: this.#recordPath }, 'the election record can not be read: taken for held');
    } else if (record.state === 'held') {
      const formerLeader = record.id ?? record.node;
      const message = 'the former leader ended uncleanly: waiting for its lease to end';
      this.#logger.info({ term: record.term, formerLeader, waitMs: Math.round(waitMs) }, message);
    }
  }
}
