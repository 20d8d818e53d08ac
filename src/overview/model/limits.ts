/** How much an overview reads and shows at most, so that a page costs little even if there are many nodes below its root. */
export const LIMITS = {
  /** Levels below the root. */
  depth: 16,
  /**
   * Children of one node that may be, or lead to, elections, locks or groups. A node with more children belongs to no tree of Conclave, so
   * none of them is read.
   */
  children: 2_000,
  /** Nodes that are read, not counting those inside queues and groups. */
  nodes: 10_000,
  /** Contenders of one queue that are read and shown. */
  queue: 500,
  /** Seats of one election. */
  seats: 1_000,
  /** Reads that wait for their answers. */
  reads: 64,
} as const;
