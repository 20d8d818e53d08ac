/** ZooKeeper's packets, and a plain socket for them. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { FrameReader, framed } from '../../test/support/wire/frames.mjs';
import { Writer } from '../../test/support/wire/jute.mjs';
import { OPERATION, XID } from '../../test/support/wire/protocol.mjs';

/** One buffer for all reads: a stream would allocate a new one for each chunk. */
const received = Buffer.allocUnsafeSlow(65_536);

/**
 * The credentials that take a session over: its id and its password.
 *
 * @typedef {{ id: Buffer, password: Buffer }} Credentials
 */

/** @type {Credentials} */
const NEW_SESSION = { id: Buffer.alloc(8), password: Buffer.alloc(16) };
/** Places in the answer to the connect request, whose parts are: version, session timeout, session, the password's length, password. */
const SESSION_AT = 8;
const PASSWORD_AT = 20;

/**
 * Opens a session on the first of the servers, or takes one over.
 *
 * @param {string} servers
 * @param {number} sessionTimeoutMs
 * @param {Credentials} [session]
 */
export async function openWire(servers, sessionTimeoutMs, { id, password } = NEW_SESSION) {
  const [host, port] = servers.split(/[:,]/);
  const wire = new Wire(/** @type {string} */ (host), Number(port));
  await once(wire.socket, 'connect');
  // The connect request: no version, no transaction seen, the session.
  const connecting = frame(new Writer().int(0).long(0n).int(sessionTimeoutMs).raw(id).buffer(password));
  const [reply] = /** @type {[Buffer]} */ (await wire.ask(1, connecting));
  wire.session = {
    id: Buffer.from(reply.subarray(SESSION_AT, SESSION_AT + 8)),
    password: Buffer.from(reply.subarray(PASSWORD_AT, PASSWORD_AT + 16)),
  };
  setInterval(() => wire.socket.write(PING), sessionTimeoutMs / 3).unref();
  return wire;
}

/**
 * A client of the benchmark's protocol, for each variant of a recipe.
 *
 * @template Recipe
 * @param {(wire: Wire, path: string, recipe: Recipe) => import('./protocol.mjs').Contender} contend
 * @returns {(recipe: Recipe) => import('./protocol.mjs').Open}
 */
export function clientOf(contend) {
  return (recipe) => async (servers, sessionTimeoutMs) => {
    const wire = await openWire(servers, sessionTimeoutMs);
    return { contender: (path) => contend(wire, path, recipe), close: () => wire.close() };
  };
}

/** A connection with one request, or group of requests, at a time. */
export class Wire {
  /** @type {import('node:net').Socket} */
  socket;
  /** @type {Credentials} */
  session = NEW_SESSION;
  #frames = new FrameReader();
  #isOpen = false;
  #xid = 0;
  /** @type {Buffer[]} */
  #replies = [];
  /** @type {() => void} */
  #onReply = () => undefined;
  /** @type {(value?: unknown) => void} */
  #onEvent = () => undefined;

  /** @param {string} host @param {number} port */
  constructor(host, port) {
    const callback = (/** @type {number} */ length) => {
      this.#read(Buffer.from(received.subarray(0, length)));
      return true;
    };
    this.socket = connect({ host, port, noDelay: true, onread: { buffer: received, callback } });
  }

  /** @param {number} count of replies @param {Buffer} packets @returns {Promise<Buffer[]>} */
  ask(count, packets) {
    // Each packet after the handshake gets its number, so that the server can report how many there were.
    if (this.#isOpen)
      for (let at = 0; at < packets.length; at += 4 + packets.readInt32BE(at))
        packets.writeInt32BE(++this.#xid, at + 4);
    this.#isOpen = true;
    this.socket.write(packets);
    /** @type {Buffer[]} */
    const replies = [];
    this.#replies = replies;
    return new Promise((resolve) => {
      this.#onReply = () => {
        if (replies.length === count) resolve(replies);
      };
    });
  }

  /** Ends the session, and waits until the server has ended the connection. */
  async close() {
    const closed = once(this.socket, 'close');
    this.#onEvent = () => undefined; // A contender that still waits must not hold now.
    this.socket.write(CLOSING);
    await closed;
  }

  /** Resolves when a watch notification arrives. */
  event() {
    return new Promise((resolve) => {
      this.#onEvent = resolve;
    });
  }

  /** @param {Buffer} chunk */
  #read(chunk) {
    for (const frame of this.#frames.push(chunk)) this.#take(frame);
    this.#onReply();
  }

  /** @param {Buffer} frame */
  #take(frame) {
    const xid = frame.readInt32BE(0);
    if (xid === XID.event) this.#onEvent();
    else if (xid !== XID.ping) this.#replies.push(frame);
  }
}

/** The session's ping. */
const PING = frame(new Writer().int(XID.ping).int(OPERATION.ping));
const CLOSING = frame(new Writer().int(1).int(OPERATION.closeSession));

/** @param {Writer} writer */
export function frame(writer) {
  return framed(writer.done());
}
