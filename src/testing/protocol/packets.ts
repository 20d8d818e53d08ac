import { WireError } from '../../wire/jute.js';
import { LONGEST_PACKET_BYTES } from './op-codes.js';

const LENGTH_BYTES = 4;

/** Splits the bytes of a socket into packets. */
export class PacketSplitter {
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #wantedBytes = LENGTH_BYTES; // How many bytes complete the packet that is being received.

  /** The first four bytes that were received, once they are there and before a packet was taken. */
  peek(): string | undefined {
    if (this.#pendingBytes < LENGTH_BYTES) return undefined;
    return this.#joined().toString('latin1', 0, LENGTH_BYTES);
  }

  push(chunk: Buffer): void {
    this.#pending.push(chunk);
    this.#pendingBytes += chunk.length;
  }

  /**
   * The next packet, if it is complete.
   *
   * @throws WireError if its length isn't allowed: then the rest of the stream can't be read
   */
  next(): Buffer | undefined {
    if (this.#pendingBytes < this.#wantedBytes) return undefined;
    const bytes = this.#joined();
    const length = bytes.readInt32BE(0);
    if (length < 0 || length > LONGEST_PACKET_BYTES) throw new WireError(`a packet of ${length} bytes`);
    this.#wantedBytes = LENGTH_BYTES + length;
    if (bytes.length < this.#wantedBytes) return undefined;
    const packet = bytes.subarray(LENGTH_BYTES, this.#wantedBytes);
    const rest = bytes.subarray(this.#wantedBytes);
    this.#pending = rest.length === 0 ? [] : [rest];
    this.#pendingBytes = rest.length;
    this.#wantedBytes = LENGTH_BYTES;
    return packet;
  }

  #joined(): Buffer {
    const bytes = this.#pending.length === 1 ? (this.#pending[0] as Buffer) : Buffer.concat(this.#pending);
    this.#pending = [bytes];
    return bytes;
  }
}
