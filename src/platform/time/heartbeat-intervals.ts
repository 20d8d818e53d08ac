/** The two times from which the times of a session follow, in milliseconds. */
export interface HeartbeatTimes {
  readonly leaseMs: number;
  readonly sessionTimeoutMs: number;
}

/**
 * How long after one heartbeat for a node the next is due at the latest, in milliseconds: four come in a lease. It is also how often a
 * listing is worth while that is kept ready for the end of a lease.
 */
export function heartbeatMs(leaseMs: number): number {
  return leaseMs / 4;
}

/**
 * Half a lease, in milliseconds: two heartbeats. What was read longer ago counts as old, a hold doesn't begin with less, a search by a
 * leader that leaves takes no longer, and replies that take longer can't keep the lease.
 */
export function halfLeaseMs(leaseMs: number): number {
  return leaseMs / 2;
}

/**
 * How long after one heartbeat the session's next is due, in milliseconds: five come in a session timeout, and four in a lease while the
 * session has nodes to prove. With {@link replyWithinMs}, a dead link is found within 8/15 of the session timeout. The rest of
 * the timeout is left to find another server.
 */
export function heartbeatIntervalMs(nodes: number, { leaseMs, sessionTimeoutMs }: HeartbeatTimes): number {
  const idleMs = sessionTimeoutMs / 5;
  return nodes > 0 ? Math.min(heartbeatMs(leaseMs), idleMs) : idleMs;
}

/**
 * How long a heartbeat may stay without a reply before the link counts as dead, in milliseconds. The length of the lease doesn't
 * matter. If replies take longer than a short lease lasts, another connection wouldn't be faster, and all other work of the
 * session would lose this one.
 */
export function replyWithinMs({ sessionTimeoutMs }: HeartbeatTimes): number {
  return sessionTimeoutMs / 3;
}

/** How long after one heartbeat the thread sends the next if the main thread doesn't: longer than the main thread waits. */
export function repeatsEveryMs({ leaseMs, sessionTimeoutMs }: HeartbeatTimes): number {
  return Math.min((5 / 4) * heartbeatMs(leaseMs), sessionTimeoutMs / 4);
}

/** As {@link repeatsEveryMs}, of the pings that keep a session with nothing to prove. */
export function pingsEveryMs({ sessionTimeoutMs }: Pick<HeartbeatTimes, 'sessionTimeoutMs'>): number {
  return sessionTimeoutMs / 4;
}
