/** Requests as bytes, ready to be sent, and functions with which the lower bounds read the answers. */
import { Writer } from '../../test/support/wire/jute.mjs';
import { OPERATION as OP } from '../../test/support/wire/protocol.mjs';
import { frame } from './wire.mjs';

/** Kinds of watches: for a node's data, and for its existence. */
const DATA_WATCH = 2;
const ALL_PERMISSIONS = 31;
export const PERSISTENT = 0;
export const EPHEMERAL = 1;
export const EPHEMERAL_SEQUENTIAL = 3;
const ANY_VERSION = -1;
/** The header of a reply: xid, zxid, error code. */
const HEADER_BYTES = 16;
const ERROR_AT = 12;
/** In a stat, the version follows two zxids and two times. Two more versions, the owner, a length and the number of children come after it. */
const VERSION_AT = 32;
const ZERO = 0x30;
/** The end of a transaction. */
const END = new Writer().int(-1).bool(true).int(-1).done();

const ids = { creation: 1, reading: 2, deletion: 3, watching: 4, transaction: 5, unwatching: 6 };

/** @param {number} id @param {number} operation @param {string | Buffer} path */
function request(id, operation, path) {
  return new Writer().int(id).int(operation).buffer(Buffer.from(path));
}

/** @param {string} node @param {number} flags */
export function creation(node, flags) {
  return frame(new Writer().int(ids.creation).int(OP.create).raw(created(node, flags)));
}

/** @param {string} node @param {number} flags */
function created(node, flags) {
  const access = new Writer().int(1).int(ALL_PERMISSIONS).string('world').string('anyone').done();
  return new Writer().string(node).int(0).raw(access).int(flags).done();
}

/** @param {string} path */
export function listing(path) {
  return frame(request(ids.reading, OP.getChildren, path).bool(false));
}

/** @param {string} path */
export function reading(path) {
  return frame(request(ids.reading, OP.getData, path).bool(false));
}

/** @param {string | Buffer} path */
export function deletion(path) {
  return frame(request(ids.deletion, OP.delete, path).int(ANY_VERSION));
}

/** @param {string | Buffer} path */
export function watching(path) {
  return frame(request(ids.watching, OP.exists, path).bool(true));
}

/** @param {string | Buffer} path */
export function unwatching(path) {
  return frame(request(ids.unwatching, OP.removeWatches, path).int(DATA_WATCH));
}

/** @param {Buffer[]} parts */
export function transaction(...parts) {
  return frame(
    new Writer()
      .int(ids.transaction)
      .int(OP.multi)
      .raw(Buffer.concat([...parts, END])),
  );
}

/** Parts of a transaction. */
export const part = {
  create: (/** @type {string} */ node, /** @type {number} */ flags) =>
    header(OP.create).raw(created(node, flags)).done(),
  delete: (/** @type {string} */ node) => header(OP.delete).string(node).int(ANY_VERSION).done(),
  check: (/** @type {string} */ node) => header(OP.check).string(node).int(ANY_VERSION).done(),
  set: (/** @type {string} */ node, /** @type {Buffer} */ data, /** @type {number} */ version) =>
    header(OP.setData).string(node).buffer(data).int(version).done(),
};

/** The header of a transaction's part: operation, not the end, no error. @param {number} code */
function header(code) {
  return new Writer().int(code).bool(false).int(-1);
}

/** @param {Buffer} reply */
export function isRefused(reply) {
  return reply.readInt32BE(ERROR_AT) !== 0;
}

/** The path in the answer to a creation. @param {Buffer} reply */
export function pathIn(reply) {
  return reply.toString('utf8', HEADER_BYTES + 4);
}

/** The number of bytes of a node's data that was read. @param {Buffer} read */
export function bytesIn(read) {
  return Math.max(0, read.readInt32BE(HEADER_BYTES));
}

/** The version in the stat of a node that was read. @param {Buffer} read */
export function versionIn(read) {
  return read.readInt32BE(HEADER_BYTES + 4 + bytesIn(read) + VERSION_AT);
}

/** The name of the predecessor of `own` in a listing, if there is one. @param {Buffer} listed @param {Buffer} own */
export function nearestAhead(listed, own) {
  const number = numberAt(own, own.length);
  return nearest(
    listed,
    (other) => other < number,
    (other, than) => other > than,
  );
}

/** The name of the first node behind `own` in a listing, if there is one. @param {Buffer} listed @param {Buffer} own */
export function nearestBehind(listed, own) {
  const number = numberAt(own, own.length);
  return nearest(
    listed,
    (other) => other > number,
    (other, than) => other < than,
  );
}

/**
 * @param {Buffer} listed
 * @param {(number: number) => boolean} suits
 * @param {(number: number, than: number) => boolean} isNearer
 */
function nearest(listed, suits, isNearer) {
  /** @type {number | undefined} */
  let best;
  /** @type {Buffer | undefined} */
  let name;
  for (let at = HEADER_BYTES + 4; at < listed.length; ) {
    const start = at + 4;
    at = start + listed.readInt32BE(at);
    const number = numberAt(listed, at);
    if (Number.isNaN(number) || !suits(number) || !(best === undefined || isNearer(number, best))) continue;
    best = number;
    name = listed.subarray(start, at);
  }
  return name;
}

/** The number in the ten bytes before `end`; NaN if they aren't all digits. @param {Buffer} bytes @param {number} end */
function numberAt(bytes, end) {
  let number = 0;
  for (let at = end - 10; at < end; at++) {
    const digit = (bytes[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    number = number * 10 + digit;
  }
  return number;
}
