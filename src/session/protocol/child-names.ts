import { WireReader } from '../../wire/jute.js';

/** Decides on a name before it becomes a string, by its UTF-8 bytes from `start` to `end`. */
export type NameTest = (bytes: Buffer, start: number, end: number) => boolean;

const LENGTH_BYTES = 4;
const ANY: NameTest = () => true;

/**
 * The names of a node's children, as bytes of the server's answer. Only names that pass a test become strings, because a thousand
 * strings take longer than the rest of a listing, and a contender needs only a few names of a long queue.
 */
export class ChildNames {
  readonly #bytes: Buffer;
  readonly #count: number;

  /** @throws WireError if the bytes aren't a list of names */
  constructor(bytes: Buffer) {
    const reader = new WireReader(bytes);
    this.#bytes = bytes;
    this.#count = reader.vectorLength();
    for (let at = 0; at < this.#count; at++) reader.skipString();
  }

  /** How many children the node has. */
  get count(): number {
    return this.#count;
  }

  /** Up to `atMost` names that pass the test, in no order. */
  strings(isWanted = ANY, atMost = Number.POSITIVE_INFINITY): string[] {
    const bytes = this.#bytes;
    const wanted: string[] = [];
    let end = LENGTH_BYTES; // Behind the count of names.
    for (let at = 0; at < this.#count && wanted.length < atMost; at++) {
      const start = end + LENGTH_BYTES;
      end = start + bytes.readInt32BE(end);
      if (isWanted(bytes, start, end)) wanted.push(bytes.toString('utf8', start, end));
    }
    return wanted;
  }
}
