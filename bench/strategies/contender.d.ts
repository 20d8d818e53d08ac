/** One that wants to lead, on a session of its own, whatever its strategy. */
export interface Contender {
  /** Takes part. Resolves when it leads, or waits. */
  join(): Promise<void>;
  /** Leads no longer, and takes no part. Resolves when its node is gone. */
  release(): Promise<void>;
  /** Ends its session. */
  close(): Promise<void>;
}

export interface Surroundings {
  readonly connect: string;
  readonly sessionTimeoutMs: number;
  /** A node that exists and is the strategy's own. */
  readonly path: string;
  /** Called at the very moment from which the contender leads. */
  readonly onLead: (contender: Contender) => void;
}

export type Strategy = (surroundings: Surroundings) => Promise<Contender>;
