/** A contender for leadership with a session of its own, by any strategy. */
export interface Contender {
  /** Joins. Resolves when the contender leads, or waits. */
  join(): Promise<void>;
  /** Stops leading, and leaves. Resolves when its node is deleted. */
  release(): Promise<void>;
  /** Closes the session. */
  close(): Promise<void>;
}

export interface Surroundings {
  readonly connect: string;
  readonly sessionTimeoutMs: number;
  /** An existing node, for this strategy only. */
  readonly path: string;
  /** Called as soon as the contender leads. */
  readonly onLead: (contender: Contender) => void;
}

export type Strategy = (surroundings: Surroundings) => Promise<Contender>;
