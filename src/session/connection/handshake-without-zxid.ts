/**
 * How long a session accepts only a server that has all transactions that the session has seen, in session timeouts. An ensemble
 * with a quorum ends a silent session within one timeout and a tick. So a longer wait would save no session, and would keep a
 * session that no server can serve any more.
 */
const INSISTS_FOR_TIMEOUTS = 1.25;

/**
 * Whether the next handshake shows no zxid. Usually a handshake shows the newest transaction that the session has seen. A server that
 * doesn't have this transaction closes the connection without an answer. A server without a quorum always does so. If an ensemble has lost
 * its data, or was restored from a backup, no server ever answers such a handshake. Without a zxid in the handshake, a server with a quorum
 * says whether it knows the session. A server without a quorum still doesn't answer, and its sessions live on.
 * @param unservedMs - how long no server has served the session, in milliseconds
 */
export function waivesZxid(unservedMs: number, sessionTimeoutMs: number): boolean {
  return unservedMs > INSISTS_FOR_TIMEOUTS * sessionTimeoutMs;
}
