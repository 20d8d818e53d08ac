/**
 * What Node's own sockets take for a cycle of a lock, and for a handover, as `README.md` says: packets that lie ready, as few round
 * trips as can be, and of the answers little is read but the numbers at the ends of names. Nothing that is written for Node can be
 * faster on these servers.
 */
import { once } from 'node:events';
import { connect as connectTo } from 'node:net';
import { failLoudly, obey } from './protocol.mjs';

const CREATE = 1;
const DELETE = 2;
const EXISTS = 3;
const GET_CHILDREN = 8;
const EPHEMERAL_SEQUENTIAL = 3;
const ALL_PERMISSIONS = 31;
const ANY_VERSION = -1;
/** Of a reply, before what it says: xid, zxid, error code. */
const HEADER_BYTES = 16;
const ERROR_AT = 12;
const EVENT_XID = -1;
const PING_XID = -2;
const PING = frame(int(PING_XID), int(11));
const ZERO = 0x30;

/** Each is created once. @type {Set<string>} */
const created = new Set();

/** @param {boolean} knows */
const client = (knows) => async (/** @type {string} */ servers, /** @type {number} */ sessionTimeoutMs) => {
  const [host, port] = servers.split(/[:,]/); // Of the first server.
  const wire = new Wire(connectTo({ host, port: Number(port), noDelay: true }));
  await once(wire.socket, 'connect');
  // No version, transaction or session before; 16 bytes of a password that there is not yet.
  await wire.ask(
    1,
    frame(int(0), Buffer.alloc(8), int(sessionTimeoutMs), Buffer.alloc(8), int(16), Buffer.alloc(16)),
  );
  setInterval(() => wire.socket.write(PING), sessionTimeoutMs / 3).unref();
  return {
    contender: (/** @type {string} */ path) => contend(wire, path, knows),
    close: async () => void wire.socket.destroy(),
  };
};

/**
 * @param {Wire} wire
 * @param {string} path
 * @param {boolean} knows whether it knows, when the one ahead goes, that nobody else is ahead: else it lists
 */
function contend(wire, path, knows) {
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
  const watching = (/** @type {number} */ number) =>
    frame(int(4), int(EXISTS), text(`${path}/${nameOf(number)}`), Buffer.from([1]));
  /** @type {Buffer} */
  let own;
  let left = false;
  return {
    async join() {
      if (!created.has(path)) await wire.ask(1, creation(path, 0)); // Refused if it is there.
      created.add(path);
      const [reply, list] = /** @type {[Buffer, Buffer]} */ (await wire.ask(2, joining));
      own = reply.subarray(HEADER_BYTES);
      let ahead = nearestAhead(list, own);
      while (ahead !== undefined) {
        const gone = wire.event();
        const [seen] = /** @type {[Buffer]} */ (await wire.ask(1, watching(ahead)));
        if (seen.readInt32BE(ERROR_AT) === 0) await gone;
        if (left) return await new Promise(() => undefined);
        if (knows) return;
        const [now] = /** @type {[Buffer]} */ (await wire.ask(1, listing));
        ahead = nearestAhead(now, own);
      }
    },
    release: () => wire.ask(1, frame(int(3), int(DELETE), own, int(ANY_VERSION))),
    async leave() {
      left = true;
      await this.release(); // Refused if it has held.
    },
  };
}

/** The number of the last one before `own` in a listing, if there is one. @param {Buffer} listing @param {Buffer} own */
function nearestAhead(listing, own) {
  const number = numberAt(own, own.length);
  let nearest = -1;
  for (let at = HEADER_BYTES + 4; at < listing.length; ) {
    at += 4 + listing.readInt32BE(at);
    const other = numberAt(listing, at);
    if (other < number && other > nearest) nearest = other;
  }
  return nearest < 0 ? undefined : nearest;
}

/** The ten digits before `end`. @param {Buffer} bytes @param {number} end */
function numberAt(bytes, end) {
  let number = 0;
  for (let at = end - 10; at < end; at++) number = number * 10 + (bytes[at] ?? 0) - ZERO;
  return number;
}

/** @param {number} number */
function nameOf(number) {
  return `n-${String(number).padStart(10, '0')}`;
}

/** A connection on which one thing is asked at a time. */
class Wire {
  /** @type {import('node:net').Socket} */
  socket;
  /** @type {Buffer} */
  #rest = Buffer.alloc(0);
  #isOpen = false;
  #xid = 0;
  /** @type {Buffer[]} */
  #replies = [];
  /** @type {() => void} */
  #onReply = () => undefined;
  /** @type {(value?: unknown) => void} */
  #onEvent = () => undefined;

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.socket = socket.on('data', (chunk) => this.#read(chunk));
  }

  /** @param {number} count of replies @param {Buffer} packets */
  async ask(count, packets) {
    // But for the first one, the handshake, each carries its number: so the server can say how many there were.
    if (this.#isOpen)
      for (let at = 0; at < packets.length; at += 4 + packets.readInt32BE(at))
        packets.writeInt32BE(++this.#xid, at + 4);
    this.#isOpen = true;
    this.socket.write(packets);
    this.#replies = [];
    await new Promise((resolve) => {
      this.#onReply = () => this.#replies.length === count && resolve(undefined);
    });
    return this.#replies;
  }

  /** Resolves when something that is watched has changed. */
  event() {
    return new Promise((resolve) => {
      this.#onEvent = resolve;
    });
  }

  /** @param {Buffer} chunk */
  #read(chunk) {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 4) {
      const end = 4 + this.#rest.readInt32BE(0);
      if (this.#rest.length < end) return;
      this.#take(this.#rest.subarray(4, end));
      this.#rest = this.#rest.subarray(end);
    }
    this.#onReply();
  }

  /** @param {Buffer} frame */
  #take(frame) {
    const xid = frame.readInt32BE(0);
    if (xid === EVENT_XID) this.#onEvent();
    else if (xid !== PING_XID) this.#replies.push(frame);
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

failLoudly(obey({ lock: client(false), prepared: client(true) }));
