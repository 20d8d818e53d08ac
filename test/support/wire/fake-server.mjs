/**
 * A server that sends the answers that a test wants, when the real one can't be made to. It runs in plain Node, and keeps no
 * process alive.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { FrameReader, framed } from './frames.mjs';
import { Reader, Writer } from './jute.mjs';
import { OPERATION, XID } from './protocol.mjs';

const SESSION_ID = 0x1234n;
const PASSWORD_BYTES = 16;
const DATA_CHANGED = 3;
const CONNECTED = 3;

/**
 * @typedef {object} Answer
 * @property {number} [code] of an error
 * @property {Uint8Array} [body]
 * @property {bigint} [zxid]
 */

/**
 * @typedef {object} Request
 * @property {number} xid
 * @property {number} type its operation
 * @property {number} connection over which it came, from 1
 * @property {(bytes: Uint8Array) => void} send sends any bytes, for packets that don't answer it
 */

/**
 * @typedef {object} Dialogue
 * @property {(connection: number, seenZxid: bigint) => number | undefined | Promise<number | undefined>} [handshake] the
 *   session timeout for the handshake's answer, 0 for a session that is over, `undefined` for no answer; by default a minute
 * @property {(connection: number) => Answer | undefined} [firstPing] answers the first ping of a connection, by which a client learns
 *   whether the server takes operations; by default with an empty success
 * @property {(request: Request) => Answer | undefined} [answer] answers a request, or doesn't; by default with an empty
 *   success
 * @property {(connection: number) => Answer | undefined} [close] answers a request to close the session, or doesn't; by
 *   default with a success, behind which the connection ends
 * @property {(socket: import('node:net').Socket) => void} [connected] takes each connection over, in place of all of these
 * @property {number} [protocolVersion] in the answer to the handshake
 * @property {number} [port]
 * @property {string} [host]
 */

/** @param {Dialogue} [dialogue] */
export async function startFakeServer({
  handshake = () => 60_000,
  firstPing = () => ({}),
  answer = () => ({}),
  close,
  connected,
  protocolVersion = 0,
  port = 0,
  host = '127.0.0.1',
} = {}) {
  let connections = 0;
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set();
  const server = createServer((socket) => {
    const connection = ++connections;
    sockets.add(socket);
    socket.unref().on('error', () => undefined); // It is followed by 'close'.
    socket.on('close', () => sockets.delete(socket));
    if (connected !== undefined) return connected(socket);
    const frames = new FrameReader();
    const send = (/** @type {Uint8Array} */ bytes) => void socket.write(bytes);
    let [greeted, pinged] = [false, false];
    const take = async (/** @type {Buffer} */ frame) => {
      if (!greeted) {
        greeted = true;
        const timeoutMs = await handshake(connection, frame.readBigInt64BE(4));
        if (timeoutMs !== undefined) send(greeting(timeoutMs, protocolVersion));
        return;
      }
      const reader = new Reader(frame);
      const [xid, type] = [reader.int(), reader.int()];
      if (type === OPERATION.closeSession && close === undefined) return void socket.end(reply(xid));
      const isFirstPing = type === OPERATION.ping && !pinged;
      if (isFirstPing) pinged = true;
      const request = { xid, type, connection, send };
      const others = () => (type === OPERATION.closeSession ? close?.(connection) : answer(request));
      const given = isFirstPing ? firstPing(connection) : others();
      if (given) send(reply(xid, given));
    };
    // One after the other, as a server does: packets that come during the handshake have to wait.
    let taken = Promise.resolve();
    socket.on('data', (chunk) => {
      for (const frame of frames.push(chunk)) taken = taken.then(() => take(frame));
    });
  });
  server.unref().listen(port, host);
  await once(server, 'listening');
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    connectString: `${host}:${address.port}`,
    /** Whether any client is connected to it. */
    get inUse() {
      return sockets.size > 0;
    },
    async stop() {
      if (!server.listening) return;
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * The bytes of a reply.
 *
 * @param {number} xid
 * @param {Answer} [answer]
 */
export function reply(xid, { code = 0, body = Buffer.alloc(0), zxid = 1n } = {}) {
  return framed(new Writer().int(xid).long(zxid).int(code).raw(body).done());
}

/** The notification of a change of a node's data. @param {string} path */
export function notification(path) {
  const body = new Writer().int(DATA_CHANGED).int(CONNECTED).string(path).done();
  return reply(XID.event, { zxid: -1n, body });
}

/**
 * A server's answer to the handshake.
 *
 * @param {number} timeoutMs 0 for a session that is over
 */
export function greeting(timeoutMs, protocolVersion = 0) {
  const id = timeoutMs === 0 ? 0n : SESSION_ID;
  return framed(
    new Writer()
      .int(protocolVersion)
      .int(timeoutMs)
      .long(id)
      .buffer(Buffer.alloc(PASSWORD_BYTES))
      .bool(false)
      .done(),
  );
}

/** A stat of zeros: the answer to `exists` and to `setData`. */
export const STAT = Buffer.alloc(68);
/** The answer to `getData` for an empty node. */
export const EMPTY_NODE = new Writer().buffer(null).raw(STAT).done();
