/**
 * Jute, the encoding of everything that ZooKeeper sends: big-endian numbers, and a length before what has one.
 *
 * Apart from `src` on purpose: a test must not share a mistake with what it checks.
 */

export class Writer {
  /** @type {Uint8Array[]} */
  #parts = [];

  /** @param {number} value */
  int(value) {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(value | 0);
    return this.raw(bytes);
  }

  /** @param {bigint} value */
  long(value) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(value);
    return this.raw(bytes);
  }

  /** @param {boolean} value */
  bool(value) {
    return this.raw(Buffer.from([value ? 1 : 0]));
  }

  /** @param {Uint8Array | null} value - `null` is a length of -1 */
  buffer(value) {
    if (value === null) return this.int(-1);
    return this.int(value.length).raw(value);
  }

  /** @param {string | null} value */
  string(value) {
    return this.buffer(value === null ? null : Buffer.from(value));
  }

  /**
   * @template T
   * @param {readonly T[]} items
   * @param {(item: T) => void} write
   */
  vector(items, write) {
    this.int(items.length);
    items.forEach(write);
    return this;
  }

  /** @param {Uint8Array} bytes */
  raw(bytes) {
    this.#parts.push(bytes);
    return this;
  }

  /** @returns {Buffer} */
  done() {
    return Buffer.concat(this.#parts);
  }
}

export class Reader {
  /** @type {Buffer} */
  #bytes;
  #at = 0;

  /** @param {Buffer} bytes */
  constructor(bytes) {
    this.#bytes = bytes;
  }

  /** How many bytes are still to be read. */
  get left() {
    return this.#bytes.length - this.#at;
  }

  int() {
    return this.raw(4).readInt32BE();
  }

  long() {
    return this.raw(8).readBigInt64BE();
  }

  bool() {
    return this.raw(1)[0] !== 0;
  }

  /** @returns {Buffer | null} */
  buffer() {
    const length = this.int();
    return length === -1 ? null : this.raw(length);
  }

  /** @returns {string | null} */
  string() {
    return this.buffer()?.toString() ?? null;
  }

  /**
   * @template T
   * @param {() => T} read
   * @returns {T[]}
   */
  vector(read) {
    return Array.from({ length: Math.max(0, this.int()) }, read);
  }

  /**
   * @param {number} length
   * @returns {Buffer}
   * @throws {RangeError} if fewer bytes are left
   */
  raw(length) {
    if (length < 0 || length > this.left) throw new RangeError(`${length} bytes of ${this.left}`);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
