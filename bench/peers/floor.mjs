/**
 * What Node's own sockets take for a cycle of a lock, as `README.md` says: three packets that lie ready, in two round trips, and
 * of the answers nothing is read but the name of the new node. Nothing that is written for Node can be faster on these servers.
 */
import { once } from 'node:events';
import { connect as connectTo } from 'node:net';
import { failLoudly, obey } from './protocol.mjs';

const CREATE = 1;
const DELETE = 2;
const GET_CHILDREN = 8;
const EPHEMERAL_SEQUENTIAL = 3;
const ALL_PERMISSIONS = 31;
const ANY_VERSION = -1;
/** Of a reply, before what it says: xid, zxid, error code. */
const HEADER_BYTES = 16;

/** Each is created once. @type {Set<string>} */
const created = new Set();

/** @param {string} servers @param {number} sessionTimeoutMs */
async function open(servers, sessionTimeoutMs) {
  const [host, port] = servers.split(/[:,]/); // Of the first server.
  const wire = new Wire(connectTo({ host, port: Number(port), noDelay: true }));
  await once(wire.socket, 'connect');
  // No version, transaction or session before; 16 bytes of a password that there is not yet.
  await wire.ask(
    1,
    frame(int(0), Buffer.alloc(8), int(sessionTimeoutMs), Buffer.alloc(8), int(16), Buffer.alloc(16)),
  );
  return {
    contender: (/** @type {string} */ path) => contend(wire, path),
    close: async () => void wire.socket.destroy(),
  };
}

/** @param {Wire} wire @param {string} path */
function contend(wire, path) {
  const creation = (/** @type {string} */ node, /** @type {number} */ flags) =>
    frame(
      int(1),
      int(CREATE),
      text(node),
      int(0),
      int(1),
      int(ALL_PERMISSIONS),
      text('world'),
      text('anyone'),
      int(flags),
    );
  const listing = frame(int(2), int(GET_CHILDREN), text(path), Buffer.from([0]));
  const joining = Buffer.concat([creation(`${path}/n-`, EPHEMERAL_SEQUENTIAL), listing]);
  /** @type {Buffer} */
  let own;
  return {
    async join() {
      if (!created.has(path)) await wire.ask(1, creation(path, 0)); // Refused if it is there.
      created.add(path);
      const [reply] = /** @type {[Buffer, Buffer]} */ (await wire.ask(2, joining));
      own = reply.subarray(HEADER_BYTES);
    },
    release: () => wire.ask(1, frame(int(3), int(DELETE), own, int(ANY_VERSION))),
    leave: async () => undefined,
  };
}

/** A connection on which one thing is asked at a time. */
class Wire {
  /** @type {import('node:net').Socket} */
  socket;
  /** @type {Buffer} */
  #rest = Buffer.alloc(0);
  /** @type {Buffer[]} */
  #replies = [];
  /** @type {() => void} */
  #onReply = () => undefined;

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.socket = socket.on('data', (chunk) => this.#read(chunk));
  }

  /** @param {number} count of replies @param {Buffer} packets */
  async ask(count, packets) {
    this.socket.write(packets);
    this.#replies = [];
    await new Promise((resolve) => {
      this.#onReply = () => this.#replies.length === count && resolve(undefined);
    });
    return this.#replies;
  }

  /** @param {Buffer} chunk */
  #read(chunk) {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 4) {
      const end = 4 + this.#rest.readInt32BE(0);
      if (this.#rest.length < end) return;
      this.#replies.push(this.#rest.subarray(4, end));
      this.#rest = this.#rest.subarray(end);
    }
    this.#onReply();
  }
}

/** @param {number} value */
function int(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** @param {string} value */
function text(value) {
  return Buffer.concat([int(Buffer.byteLength(value)), Buffer.from(value)]);
}

/** @param {Buffer[]} parts */
function frame(...parts) {
  const packet = Buffer.concat(parts);
  return Buffer.concat([int(packet.length), packet]);
}

failLoudly(obey({ lock: open }));
