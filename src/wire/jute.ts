/**
 * Jute, ZooKeeper's encoding. It has big-endian numbers, and a length of four bytes before strings, buffers and vectors; -1
 * stands for null.
 *
 * Sessions and the embedded server use it. Tests compare both with another codec, and with real servers and clients. For the
 * reason to write it by hand see `session/protocol/multi-and-stats.ts`.
 */

/** The bytes don't have the expected form. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
const NO_STRING = 'null where a string is needed';

/** Reads one record after the other from untrusted bytes. Every method throws {@link WireError}. */
export class WireReader {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get remaining(): number {
    return this.#bytes.length - this.#offset;
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#advance(4));
  }

  int64(): bigint {
    return this.#bytes.readBigInt64BE(this.#advance(8));
  }

  bool(): boolean {
    return this.#bytes[this.#advance(1)] === 1;
  }

  skip(bytes: number): void {
    this.#advance(bytes);
  }

  /** A part of the packet's own bytes, and not a copy. */
  nullableBuffer(): Buffer | null {
    const length = this.#length();
    if (length === NULL_LENGTH) return null;
    const start = this.#advance(length);
    return this.#bytes.subarray(start, start + length);
  }

  nullableString(): string | null {
    const length = this.#length();
    if (length === NULL_LENGTH) return null;
    const start = this.#advance(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  string(): string {
    const text = this.nullableString();
    if (text === null) throw new WireError(NO_STRING);
    return text;
  }

  nullableVector<T>(readItem: () => T): T[] | null {
    const count = this.vectorLength();
    return count === NULL_LENGTH ? null : Array.from({ length: count }, readItem);
  }

  /** The number of items that follow; -1 for null. */
  vectorLength(): number {
    const count = this.#length();
    // Every item of every vector begins with its own length, so a greater count is wrong.
    if (count * LENGTH_BYTES > this.remaining)
      throw new WireError(`${count} items in ${this.remaining} bytes`);
    return count;
  }

  strings(): string[] {
    return this.nullableVector(() => this.string()) ?? [];
  }

  skipString(): void {
    const length = this.#length();
    if (length === NULL_LENGTH) throw new WireError(NO_STRING);
    this.#advance(length);
  }

  #length(): number {
    const length = this.int32();
    if (length < NULL_LENGTH) throw new WireError(`a length of ${length}`);
    return length;
  }

  #advance(bytes: number): number {
    const start = this.#offset;
    if (bytes > this.#bytes.length - start)
      throw new WireError(`${bytes} bytes wanted, ${this.remaining} there`);
    this.#offset += bytes;
    return start;
  }
}

const FIRST_BYTES = 512;

/** Writes records. {@link WireWriter.frame} returns them with their length in front, and begins anew. */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #offset = LENGTH_BYTES;

  /** Begins anew, also after code has written a part and thrown. */
  begin(): this {
    this.#offset = LENGTH_BYTES;
    return this;
  }

  int32(value: number): this {
    const at = this.#reserve(4);
    this.#bytes.writeInt32BE(value, at);
    return this;
  }

  int64(value: bigint): this {
    const at = this.#reserve(8);
    this.#bytes.writeBigInt64BE(value, at);
    return this;
  }

  bool(value: boolean): this {
    const at = this.#reserve(1);
    this.#bytes[at] = value ? 1 : 0;
    return this;
  }

  buffer(value: Uint8Array | null): this {
    if (value === null) return this.int32(NULL_LENGTH);
    this.int32(value.length);
    const at = this.#reserve(value.length);
    this.#bytes.set(value, at);
    return this;
  }

  string(value: string): this {
    const length = Buffer.byteLength(value);
    this.int32(length);
    const at = this.#reserve(length);
    this.#bytes.write(value, at, length, 'utf8');
    return this;
  }

  vector<T>(items: readonly T[], writeItem: (item: T) => void): this {
    this.int32(items.length);
    for (const item of items) writeItem(item);
    return this;
  }

  /** A copy of the written bytes, with their length in front. */
  frame(): Buffer {
    this.#bytes.writeInt32BE(this.#offset - LENGTH_BYTES, 0);
    const frame = Buffer.allocUnsafe(this.#offset);
    this.#bytes.copy(frame, 0, 0, this.#offset);
    this.begin();
    // A single long frame must not take memory forever.
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#bytes = Buffer.allocUnsafe(FIRST_BYTES);
    return frame;
  }

  #reserve(bytes: number): number {
    const start = this.#offset;
    this.#offset += bytes;
    if (this.#offset > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#offset, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, start);
      this.#bytes = larger;
    }
    return start;
  }
}

const MAX_KEPT_BYTES = 2 ** 20;
