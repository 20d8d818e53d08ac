import type { EventNames } from '../platform/safe-emitter.js';

/**
 * The state of a session.
 *
 * - `connecting`: no server has accepted the session yet.
 * - `connected`: a server serves the session.
 * - `suspended`: the connection is lost and the session may still live; `sinceMs` is the session clock's time of the loss.
 * - `expired`: the servers ended the session. Final.
 * - `closed`: this process closed the session, or no server would accept it. Final.
 *
 * connecting → connected ⇄ suspended; connecting or connected or suspended → closed or expired.
 */
export type SessionState =
  | { readonly name: 'connecting' }
  | { readonly name: 'connected' }
  | { readonly name: 'suspended'; readonly sinceMs: number }
  | { readonly name: 'expired' }
  | { readonly name: 'closed' };

/** Whether the session has ended, one way or the other. */
export function hasEnded(state: SessionState): boolean {
  return state.name === 'expired' || state.name === 'closed';
}

/** The events of a `Session`, each at most once for each change. They inform; `signal` protects. */
export interface SessionEvents {
  /** The connection is lost. Locks and terms stay held while their lease lasts. */
  suspended(): void;
  /** A server serves the same session again. */
  resumed(): void;
  /** The servers ended the session: its ephemeral nodes are gone. */
  expired(): void;
  /** The session was closed by this process. */
  closed(): void;
  /**
   * A listener failed, a node can't be deleted, or no server serves the session: a `NoServerError` after the first whole round
   * of servers and the end of the lease, and then, as long as that lasts, after pauses that double from a second to a minute.
   */
  error(error: Error): void;
}

/** @internal */
export const SESSION_EVENTS: EventNames<SessionEvents> = {
  suspended: true,
  resumed: true,
  expired: true,
  closed: true,
  error: true,
};
