import { WireReader } from '../../wire/jute.js';

/** What is asked of a name that is no string yet: by the bytes from `start` to `end`, in UTF-8. */
export type NameTest = (bytes: Buffer, start: number, end: number) => boolean;

const LENGTH_BYTES = 4;
const ANY: NameTest = () => true;

/**
 * The names of a node's children, as they lie in the server's answer. Only those that somebody wants become strings: a
 * thousand strings take longer than the rest of a listing, and most of a long queue concerns nobody.
 */
export class ChildNames {
  readonly #bytes: Buffer;
  readonly #count: number;

  /** @throws WireError if these aren't names from the first byte on */
  constructor(bytes: Buffer) {
    const reader = new WireReader(bytes);
    this.#bytes = bytes;
    this.#count = reader.vectorLength();
    for (let at = 0; at < this.#count; at++) reader.skipString();
  }

  /** Those that pass the test, in no order; no more than so many. */
  strings(isWanted = ANY, atMost = Number.POSITIVE_INFINITY): string[] {
    const bytes = this.#bytes;
    const wanted: string[] = [];
    let end = LENGTH_BYTES; // Of the count.
    for (let at = 0; at < this.#count && wanted.length < atMost; at++) {
      const start = end + LENGTH_BYTES;
      end = start + bytes.readInt32BE(end);
      if (isWanted(bytes, start, end)) wanted.push(bytes.toString('utf8', start, end));
    }
    return wanted;
  }
}
