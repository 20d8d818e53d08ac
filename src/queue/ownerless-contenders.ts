import { UnreadableNodeError } from '../errors.js';
import { isNoAuth } from '../session/protocol/error-codes.js';
import { hasSession, type Stat } from '../session/protocol/multi-and-stats.js';
import type { Session } from '../session/session.js';
import { parseLockEntry } from './names-and-order.js';

/**
 * Whether the node of that name in `queue` stands for no contender, because it belongs to no session.
 *
 * Only nodes with a name as Conclave and Curator give them can be ownerless: those clients make ephemeral nodes alone. A name that
 * `extraLockPatterns` matches may be kazoo's. With `acquire(ephemeral=False)` kazoo holds a lock by a persistent node on purpose.
 */
export function isOwnerless(session: Session, queue: string, name: string, stat: Stat): boolean {
  if (hasSession(stat) || parseLockEntry(name) === undefined) return false;
  return session.guard.ownerless.isOne(`${queue}/${name}`, stat);
}

/** The error to report when a node of the queue can't be read. If the session lacks the permission READ, it is an UnreadableNodeError. */
export function orUnreadable(error: unknown, path: string): unknown {
  return isNoAuth(error) ? new UnreadableNodeError(path, { cause: error }) : error;
}
