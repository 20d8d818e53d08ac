import type { Session } from '../../session/session.js';

/**
 * The states of a supervisor. `P` is its participation in an election or in a group of shards.
 *
 * - `idle`: not started.
 * - `connecting`: looks for a server to open a session with, for the `attempt`th time in a row, since `sinceMs` by the clock.
 * - `pausing`: an attempt to take part was refused, for the reason `why`, and the next one begins at `untilMs` by the clock.
 * - `participating`: takes part with a session, or is about to.
 * - `settling`: the session has ended, or is being closed; its work still has to settle.
 * - `cleaning`: the clean-up hook runs for the `attempt`th time, or is about to be called again.
 * - `cooling`: stays out after a loss; without a cooldown, only in passing.
 * - `stopped`: final.
 *
 * idle → connecting → participating → settling → cleaning → cooling → connecting → …; after a refusal, settling → pausing →
 * connecting; any → stopped.
 */
export type SupervisorState<P> =
  | { readonly name: 'idle' }
  | { readonly name: 'connecting'; readonly attempt: number; readonly sinceMs: number }
  | { readonly name: 'pausing'; readonly untilMs: number; readonly why: string }
  | { readonly name: 'participating' | 'settling'; readonly participation: P }
  | { readonly name: 'cleaning'; readonly attempt: number }
  | { readonly name: 'cooling' }
  | { readonly name: 'stopped' };

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
