import type { EventNames } from '../platform/safe-emitter.js';

/**
 * The state of a session.
 *
 * - `connecting`: no server has accepted the session yet.
 * - `connected`: a server serves the session.
 * - `suspended`: the connection is lost and the session may still live; `sinceMs` is the session clock's time of the loss.
 * - `expired`: the servers ended the session, or refused it for a session timeout; or another client took it. Final.
 * - `closed`: this process closed the session, or the servers refuse it, for its credentials for example. Final.
 *
 * connecting → connected ⇄ suspended; connecting or connected or suspended → closed or expired.
 */
export type SessionState =
  | { readonly name: 'connecting' }
  | { readonly name: 'connected' }
  | { readonly name: 'suspended'; readonly sinceMs: number }
  | { readonly name: 'expired' }
  | { readonly name: 'closed' };

/** Whether the session has ended, by expiry or by closing. */
export function hasEnded(state: SessionState): boolean {
  return state.name === 'expired' || state.name === 'closed';
}

/** The events of a `Session`, emitted at most once for each change. They only inform. To end work with the session, use its `signal`. */
export interface SessionEvents {
  /** The connection is lost. Locks and terms stay held while their lease lasts. */
  suspended(): void;
  /** A server serves the same session again. */
  resumed(): void;
  /**
   * The servers ended the session, and its ephemeral nodes are gone. Or another client took it, or the servers refused it for a session
   * timeout: then they end it later.
   */
  expired(): void;
  /** This process closed the session. */
  closed(): void;
  /**
   * A listener failed, a node can't be deleted, or no server serves the session. In the last case a `NoServerError` comes after
   * the first whole round of servers and the end of the lease. While that lasts, further ones follow after pauses that double
   * from a second to a minute.
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
