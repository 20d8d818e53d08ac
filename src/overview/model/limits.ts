/** How much is looked at and shown, so that a page costs little whatever is below its root. */
export const LIMITS = {
  /** Below the root. */
  depth: 16,
  /** Children of one node that may be, or lead to, elections, locks or groups. More than that are no Conclave tree: none is looked at. */
  children: 2_000,
  /** Nodes that are looked at, without those of which queues and groups consist. */
  nodes: 10_000,
  /** Contenders of one queue that are read and shown. */
  queue: 500,
  /** Seats of one election. */
  seats: 1_000,
  /** Reads that wait for their answers. */
  reads: 64,
} as const;
