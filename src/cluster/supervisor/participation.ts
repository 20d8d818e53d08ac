import type { Session } from '../../session/session.js';

/** What ended with a participation, for the clean-up hook. */
export interface Loss {
  readonly reason: string;
}

/** What a supervisor does with one session, to the end of that: stand for election, say, or be a member of a group of shards. */
export interface Participation<L extends Loss> {
  readonly session: Session;
  /** Takes part. @throws what keeps it from that; a withdrawal before it has a place makes it reject */
  start(): Promise<void>;
  /** Until the session has ended, it can't take part any more, or `stop`. Never rejects. */
  untilEnded(stop: AbortSignal): Promise<void>;
  /** Lets its work settle, and gives back what it holds. Never rejects. */
  withdraw(): Promise<void>;
  /** What was lost with it, as long as its session hasn't been closed by this process; `undefined` if it was only stopped. */
  readonly loss: L | undefined;
}
