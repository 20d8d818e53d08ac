// A listing of 100,000 contenders is under 6 MB. A peer that sends more isn't a ZooKeeper server.
export const MAX_FRAME_BYTES = 64 * 1024 * 1024;
// The answer to the handshake has 41 bytes. Before it, the peer may not be a ZooKeeper server at all.
export const MAX_HANDSHAKE_REPLY_BYTES = 1024;
/** The first xid of the requests that the connection's thread sends itself. Those of the session are below, and above 0. */
export const FIRST_THREAD_XID = 0x70000000;
