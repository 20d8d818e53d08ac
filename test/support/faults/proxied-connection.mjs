import { FrameReader, framed } from '../wire/frames.mjs';
import { Traffic } from './traffic.mjs';

/** @import { Socket } from 'node:net' */

/** @typedef {'upstream' | 'downstream'} Direction - to the server, or to the client */

/**
 * @typedef {object} Conditions the questions of a connection to its proxy
 * @property {(direction: Direction) => boolean} holds whether the proxy holds all bytes back now
 * @property {() => number} delayMs how much later everything arrives
 * @property {(connection: ProxiedConnection, frame: Buffer) => void} requested is called before a request is handed on
 * @property {(frame: Buffer) => boolean} endsBehind whether everything that the server sends after this frame is lost
 */

/**
 * @typedef {object} Cut where a connection ends: behind whole messages of one direction, and further bytes
 * @property {Direction} direction
 * @property {number} messages
 * @property {number} bytes
 * @property {() => void} done
 */

/** A client's connection, and the proxy's own one to the server. */
export class ProxiedConnection {
  /** @type {Conditions} */
  #conditions;
  /** @type {Socket} */
  #server;
  /** @type {readonly OneWay[]} */
  #ways;
  #requests = new FrameReader();
  #replies = new FrameReader();
  traffic = new Traffic();
  /** By request, the fault in the place of the reply. @type {Map<number, { bytes: number, isLost: () => boolean }>} */
  #lostReplies = new Map();

  /**
   * @param {Socket} client
   * @param {Socket} server
   * @param {Conditions} conditions
   * @param {{ readable: boolean, onEnd: () => void, cut?: Cut | undefined }} options
   */
  constructor(client, server, conditions, { readable, onEnd, cut }) {
    this.#server = server;
    this.#conditions = conditions;
    /** @param {(chunk: Buffer) => Iterable<Buffer>} read */
    const ifReadable = (read) => (readable ? read : asIs);
    const readRequests = ifReadable((chunk) => this.#readRequests(chunk));
    const readReplies = ifReadable((chunk) => this.#readReplies(chunk));
    this.#ways = [
      new OneWay(client, server, 'upstream', conditions, readRequests, cut),
      new OneWay(server, client, 'downstream', conditions, readReplies, cut),
    ];
    let open = this.#ways.length;
    for (const socket of [client, server]) {
      socket.setNoDelay(true).unref();
      socket.on('error', () => socket.destroy());
      socket.once('close', () => {
        this.traffic.isOpen = false;
        if (--open === 0) onEnd();
      });
    }
    this.pass();
  }

  /** Passes on the bytes that are due, if it may. */
  pass() {
    for (const way of this.#ways) way.pass();
  }

  drop() {
    for (const way of this.#ways) way.drop();
  }

  /**
   * @param {number} xid the request's
   * @param {number} bytes how much of its reply is handed on before the connection ends
   * @param {() => boolean} isLost asked when the reply comes
   */
  loseReply(xid, bytes, isLost) {
    this.#lostReplies.set(xid, { bytes, isLost });
  }

  /** @param {Buffer} chunk */
  *#readRequests(chunk) {
    for (const frame of this.#requests.push(chunk)) {
      this.traffic.request(frame);
      this.#conditions.requested(this, frame);
      yield framed(frame);
    }
  }

  /** @param {Buffer} chunk */
  *#readReplies(chunk) {
    for (const frame of this.#replies.push(chunk)) {
      this.traffic.reply(frame);
      const xid = frame.readInt32BE(0);
      const { bytes, isLost } = this.#lostReplies.get(xid) ?? {};
      this.#lostReplies.delete(xid);
      const cut = isLost?.() ? bytes : undefined;
      const isLast = cut !== undefined || this.#conditions.endsBehind(frame);
      yield framed(frame).subarray(0, cut);
      if (!isLast) continue;
      this.#server.destroy(); // The client's connection ends after the bytes that were passed on.
      return;
    }
  }
}

/** @param {Buffer} chunk */
function* asIs(chunk) {
  yield chunk;
}

/**
 * One direction of a connection. While it is held, the proxy reads nothing from the sender, so that the buffers of the sender's
 * system fill up. Bytes that are sent meanwhile arrive late.
 */
class OneWay {
  /** @type {Socket} */
  #from;
  /** @type {Socket} */
  #to;
  /** @type {Direction} */
  #direction;
  /** @type {Conditions} */
  #conditions;
  /** The bytes that were read and not passed on yet. @type {{ dueAt: number, bytes: Buffer | 'end' }[]} */
  #parcels = [];
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {NodeJS.Immediate | undefined} */
  #turn;
  /** What may still pass before the connection is cut. @type {Cut | undefined} */
  #cut;
  #isCut = false;

  /**
   * @param {Socket} from
   * @param {Socket} to
   * @param {Direction} direction
   * @param {Conditions} conditions
   * @param {(chunk: Buffer) => Iterable<Buffer>} read returns the bytes to pass on
   * @param {Cut | undefined} cut
   */
  constructor(from, to, direction, conditions, read, cut) {
    this.#from = from;
    this.#to = to;
    this.#direction = direction;
    this.#conditions = conditions;
    if (cut?.direction === direction) this.#cut = { ...cut };
    from.on('data', (chunk) => {
      to.cork();
      for (const bytes of read(chunk)) this.#take(bytes);
      to.uncork();
    });
    // The other end learns of it as late as of the bytes before it.
    from.on('close', () => this.#take('end'));
    this.#endIfDue();
  }

  /** @param {Buffer | 'end'} bytes */
  #take(bytes) {
    if (this.#isCut && bytes !== 'end') return;
    this.#parcels.push({ dueAt: performance.now() + this.#conditions.delayMs(), bytes });
    this.pass();
  }

  pass() {
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
    const isHeld = this.#conditions.holds(this.#direction);
    if (isHeld) this.#from.pause();
    else this.#from.resume();
    while (!isHeld && this.#parcels[0] !== undefined) {
      const { dueAt, bytes } = this.#parcels[0];
      const ms = dueAt - performance.now();
      if (ms > 0) {
        // No timer is shorter than a millisecond.
        if (ms < 1) this.#turn = setImmediate(() => this.pass());
        else this.#timer = setTimeout(() => this.pass(), ms).unref();
        return;
      }
      this.#parcels.shift();
      if (bytes === 'end') this.#to.destroySoon();
      else this.#handOn(bytes);
    }
  }

  /** @param {Buffer} message */
  #handOn(message) {
    const cut = this.#cut;
    if (cut === undefined) return void this.#to.write(message);
    const isWhole = cut.messages > 0;
    const part = isWhole ? message : message.subarray(0, cut.bytes);
    if (isWhole) cut.messages--;
    else cut.bytes -= part.length;
    this.#to.write(part);
    this.#endIfDue();
  }

  #endIfDue() {
    if (this.#cut === undefined || this.#cut.messages + this.#cut.bytes > 0) return;
    this.#isCut = true;
    this.#parcels = [];
    this.#from.destroy(); // The other end follows, behind the bytes that were handed on.
    this.#cut.done();
  }

  drop() {
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
    this.#parcels = [];
    this.#from.destroy();
    this.#to.destroy();
  }
}
