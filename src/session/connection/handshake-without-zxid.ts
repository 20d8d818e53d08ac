/**
 * How long a session accepts only a server that has seen all that the session has, in session timeouts. An ensemble with a
 * quorum ends a silent session within one timeout and a tick: a longer wait would save no session, and would keep a session
 * that no server can serve any more.
 */
const INSISTS_FOR_TIMEOUTS = 1.25;

/**
 * Whether the next handshake shows no zxid. A handshake shows the newest transaction that the session has seen, and a server
 * that doesn't have it closes the connection without an answer. So does a server without a quorum, whatever it is shown. When
 * an ensemble has lost its data, or was restored from a backup, no server ever answers such a handshake. Asked without a zxid,
 * a server with a quorum says whether it knows the session; one without a quorum still says nothing, and its sessions live on.
 * @param unservedMs - how long no server has served the session
 */
export function waivesZxid(unservedMs: number, sessionTimeoutMs: number): boolean {
  return unservedMs > INSISTS_FOR_TIMEOUTS * sessionTimeoutMs;
}
