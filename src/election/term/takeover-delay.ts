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
