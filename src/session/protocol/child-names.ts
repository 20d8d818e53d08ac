import { WireReader } from '../../wire/jute.js';

/** Decides on a name before it is made a string, by its bytes in UTF-8 from `start` to `end`. */
export type NameTest = (bytes: Buffer, start: number, end: number) => boolean;

const LENGTH_BYTES = 4;
const ANY: NameTest = () => true;

/**
 * The names of a node's children, as bytes of the server's answer. Only names that pass a test become strings. Its gain: a thousand
 * strings take longer than the rest of a listing, and a contender needs few names of a long queue.
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

  /** At most `atMost` names that pass the test, in no order. */
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
