/** A server that says what a scenario wants said, where the real one can't be made to. It keeps no process alive. */
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { frameReader } from './frames.mjs';

// The codec of both clients. Our declarations of it hold what we use of it ourselves: the requests' side.
const jute = createRequire(import.meta.url)('node-zookeeper-client/lib/jute/index.js');

const SESSION_ID = 0x1234n;
const DATA_CHANGED = 3;
const CONNECTED = 3;

/**
 * @typedef {object} Asked a request
 * @property {number} xid
 * @property {number} type
 * @property {(bytes: Buffer) => void} send
 */

/**
 * @typedef {object} Dialogue
 * @property {(connection: number) => number | Promise<number>} [handshake] the session timeout for the handshake's
 *   answer, 0 for a session that is over; a minute if it isn't given
 * @property {(asked: Asked) => void} [answer] answers a request, or doesn't; an empty success if it isn't given. A
 *   request to close the session is answered as a server does.
 */

/** @param {Dialogue} [dialogue] */
export async function startFakeServer({
  handshake = () => 60_000,
  answer = ({ xid, send }) => send(reply(xid)),
} = {}) {
  let connections = 0;
  let open = 0;
  const server = createServer((socket) => {
    const connection = ++connections;
    open++;
    socket.unref().on('error', () => undefined); // Followed by 'close', as everywhere.
    socket.on('close', () => open--);
    const frames = frameReader();
    const send = (/** @type {Buffer} */ bytes) => void socket.write(bytes);
    let greeted = false;
    const take = async (/** @type {Buffer} */ frame) => {
      if (!greeted) {
        send(handshakeReply(await handshake(connection)));
        greeted = true;
        return;
      }
      const [xid, type] = [frame.readInt32BE(0), frame.readInt32BE(4)];
      if (type === jute.OP_CODES.CLOSE_SESSION) socket.end(reply(xid));
      else answer({ xid, type, send });
    };
    // One after the other, as a server does: what comes while the handshake is under way has to wait.
    let taken = Promise.resolve();
    socket.on('data', (chunk) => {
      for (const frame of frames(chunk)) taken = taken.then(() => take(frame));
    });
  });
  server.unref().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    connectString: `127.0.0.1:${port}`,
    /** Whether anybody is connected to it. */
    get inUse() {
      return open > 0;
    },
  };
}

/**
 * The bytes of a reply.
 *
 * @param {number} xid
 * @param {{ code?: number, body?: unknown }} [outcome] an error code, or one of the codec's records
 * @returns {Buffer}
 */
export function reply(xid, { code = 0, body = null } = {}) {
  return new jute.Request(new jute.protocol.ReplyHeader(xid, int64(1n), code), body).toBuffer();
}

/** An answer to `exists`, and to `setData`, for a node that has all zeros for its stat. */
export function statBody() {
  return new jute.protocol.ExistsResponse();
}

/**
 * The bytes that tell of a change of a node's data.
 *
 * @param {string} path
 * @returns {Buffer}
 */
export function notification(path) {
  const header = new jute.protocol.ReplyHeader(jute.XID_NOTIFICATION, int64(-1n), 0);
  return new jute.Request(header, new jute.protocol.WatcherEvent(DATA_CHANGED, CONNECTED, path)).toBuffer();
}

/** An answer to `getData` for an empty node. */
export function dataBody() {
  return new jute.protocol.GetDataResponse();
}

/** @param {number} timeoutMs */
function handshakeReply(timeoutMs) {
  const id = int64(timeoutMs === 0 ? 0n : SESSION_ID);
  return new jute.Request(
    null,
    new jute.protocol.ConnectResponse(0, timeoutMs, id, Buffer.alloc(16)),
  ).toBuffer();
}

/** @param {bigint} value */
function int64(value) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}
