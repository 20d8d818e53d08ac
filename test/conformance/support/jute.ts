/**
 * Jute, the encoding of everything that ZooKeeper sends: big-endian numbers, and a length before what has one.
 *
 * Apart from `src` on purpose: the suite must not share a mistake with what it checks.
 */

export class Writer {
  readonly #parts: Buffer[] = [];

  int(value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(value);
    return this.raw(bytes);
  }

  long(value: bigint): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(value);
    return this.raw(bytes);
  }

  bool(value: boolean): this {
    return this.raw(Buffer.from([value ? 1 : 0]));
  }

  /** `null` is a length of -1. */
  buffer(value: Uint8Array | null): this {
    if (value === null) return this.int(-1);
    return this.int(value.length).raw(value);
  }

  string(value: string | null): this {
    return this.buffer(value === null ? null : Buffer.from(value));
  }

  vector<T>(items: readonly T[], write: (item: T) => void): this {
    this.int(items.length);
    items.forEach(write);
    return this;
  }

  raw(bytes: Uint8Array): this {
    this.#parts.push(Buffer.from(bytes));
    return this;
  }

  done(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

export class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** How many bytes nobody has read yet. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  int(): number {
    return this.raw(4).readInt32BE();
  }

  long(): bigint {
    return this.raw(8).readBigInt64BE();
  }

  bool(): boolean {
    return this.raw(1)[0] !== 0;
  }

  buffer(): Buffer | null {
    const length = this.int();
    return length === -1 ? null : this.raw(length);
  }

  string(): string | null {
    return this.buffer()?.toString() ?? null;
  }

  vector<T>(read: () => T): T[] {
    return Array.from({ length: Math.max(0, this.int()) }, read);
  }

  /** @throws RangeError if there are fewer bytes left. */
  raw(length: number): Buffer {
    if (length < 0 || length > this.left) throw new RangeError(`${length} bytes of ${this.left}`);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
