/**
 * What a session and the thread that holds its connection both know of ZooKeeper's frames. It is a file of its own, without the codec,
 * because the code of that thread is part of a URL.
 */

// A listing of 100,000 contenders is under 6 MB. A peer that sends more isn't a ZooKeeper server.
export const MAX_FRAME_BYTES = 64 * 1024 * 1024;
// The answer to the handshake has 41 bytes. Before it, the peer may not be a ZooKeeper server at all.
export const MAX_HANDSHAKE_REPLY_BYTES = 1024;

/** Before each frame. */
export const LENGTH_BYTES = 4;
/** The place of the xid in a request, after its length. A handshake has none. */
export const XID_OFFSET = LENGTH_BYTES;
/** The first xid of the requests that the connection's thread sends itself. Those of the session are below, and above 0. */
export const FIRST_THREAD_XID = 0x70000000;
export const EVENT_XID = -1;
export const PING_XID = -2;
export const AUTH_XID = -4;

const PING = Buffer.from([0, 0, 0, 8, 255, 255, 255, 254, 0, 0, 0, 11]);

export function encodePing(): Buffer {
  return PING;
}

const TRANSACTION_HEADER_BYTES = LENGTH_BYTES + 8; // The length, the xid and the operation.
const TRANSACTION_END_BYTES = 9; // The header of a part that isn't there.

/** One transaction with the parts of all of these, in their order. @param frames - at least one, as they are sent */
export function joinTransactions(frames: readonly Uint8Array[]): Buffer {
  const [first = new Uint8Array()] = frames;
  const joined = Buffer.concat([
    first.subarray(0, TRANSACTION_HEADER_BYTES),
    ...frames.map((frame) => frame.subarray(TRANSACTION_HEADER_BYTES, -TRANSACTION_END_BYTES)),
    first.subarray(-TRANSACTION_END_BYTES),
  ]);
  joined.writeInt32BE(joined.length - LENGTH_BYTES, 0);
  return joined;
}

const NODES_PER_HEARTBEAT = 200;
const BYTES_PER_HEARTBEAT = 900_000; // A request must stay under the 1 MB of a server, and a path may have 4 KB.

/** Splits the parts that prove nodes into heartbeats, in order. @param bytesOf - an upper bound of the bytes that are sent for a node */
export function inHeartbeats<T>(nodes: Iterable<T>, bytesOf: (node: T) => number): T[][] {
  const heartbeats: T[][] = [];
  let [count, bytes] = [NODES_PER_HEARTBEAT, 0];
  for (const node of nodes) {
    const ownBytes = bytesOf(node);
    if (count === NODES_PER_HEARTBEAT || bytes + ownBytes > BYTES_PER_HEARTBEAT) {
      heartbeats.push([]);
      [count, bytes] = [0, 0];
    }
    heartbeats.at(-1)?.push(node);
    [count, bytes] = [count + 1, bytes + ownBytes];
  }
  return heartbeats;
}

const REPLY_HEADER_BYTES = 16; // The xid, the zxid and the error code.

export interface ReplyHeader {
  readonly xid: number;
  readonly zxid: bigint;
  readonly errorCode: number;
  readonly body: Buffer;
}

/** Reads the header of a reply, by hand: each reply has one, and the codec would copy it field by field. @throws RangeError */
export function decodeReply(frame: Buffer): ReplyHeader {
  if (frame.length < REPLY_HEADER_BYTES) throw new RangeError(`a reply of ${frame.length} bytes`);
  return {
    xid: frame.readInt32BE(0),
    zxid: frame.readBigInt64BE(4),
    errorCode: frame.readInt32BE(12),
    body: frame.subarray(REPLY_HEADER_BYTES),
  };
}
