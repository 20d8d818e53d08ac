import type { Session } from '../../session/session.js';

/** What ended with a participation, for the clean-up hook. */
export interface Loss {
  readonly reason: string;
}

/** A supervisor's part in an election or in a group of shards with one session, until that session ends. */
export interface Participation<L extends Loss> {
  readonly session: Session;
  /** Takes part. @throws the error that keeps it from taking part; it also rejects if it is withdrawn before it has a place */
  start(): Promise<void>;
  /** Resolves when the session has ended, when it can no longer take part, or at `stop`. Never rejects. */
  untilEnded(stop: AbortSignal): Promise<void>;
  /** Lets its work settle, then gives back its term or its shards. Never rejects. */
  withdraw(): Promise<void>;
  /** The loss, to be read before this process closes the session; `undefined` if it was only stopped. */
  readonly loss: L | undefined;
}
