import type { HandshakeReply } from './requests.js';

const PASSWORD_BYTES = 16;
const UNANSWERED_CODES: ReadonlySet<number> = new Set([-4, -7]); // CONNECTION_LOSS and OPERATION_TIMEOUT.

/**
 * Whether ClickHouse Keeper has granted the session. It speaks ZooKeeper's protocol, and gives each session a password of zeros. As its
 * sources say (`KeeperTCPHandler.cpp`, `KeeperDispatcher.cpp` and `KeeperStorage.cpp`), it differs in what a session relies on:
 * - Each handshake gets a new session, whatever session it asks for. So a session whose connection is lost has ended for its client.
 * - The end of the connection is the answer to `closeSession`.
 * - Before 26.1 it ends the connection of a client that sends `removeWatches`; and it may be set up without `multiRead`.
 * - A read doesn't keep a session: only what goes through the leader does, as a ping and a write.
 * - An error code may say that the outcome isn't known. ZooKeeper's servers never send such a code.
 */
export function isClickHouseKeeper({
  password,
  timeoutMs,
}: Pick<HandshakeReply, 'password' | 'timeoutMs'>): boolean {
  return timeoutMs > 0 && password.length === PASSWORD_BYTES && password.every((byte) => byte === 0);
}

/** Whether this code of a reply says that Keeper may or may not have carried the request out. */
export function isUnansweredByKeeper(errorCode: number): boolean {
  return UNANSWERED_CODES.has(errorCode);
}
