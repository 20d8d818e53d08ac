/**
 * Cuts a byte stream into ZooKeeper's frames: four bytes of length, then that many bytes. Each connection has its own reader, so
 * that half a frame of a lost connection never meets the bytes of the next one. Each byte is copied at most once, whatever the
 * number of frames in a chunk or of chunks in a frame.
 */
export class FrameReader {
  /** The longest frame to accept, in bytes. */
  limit: number;
  #chunks: Buffer[] = [];
  #buffered = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /**
   * Yields the frames that are complete with this chunk, without their lengths, one after the other. Frames before an error are
   * good. The caller has to read to the end, and otherwise can no longer use the reader.
   *
   * @throws RangeError if a frame's length is below 0 or over the limit; the rest of the stream can't be read
   */
  *push(chunk: Buffer): Generator<Buffer, void> {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    if (this.#buffered < this.#wanted()) return;
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    let offset = 0;
    while (bytes.length - offset >= 4) {
      const end = offset + 4 + this.#lengthAt(bytes, offset);
      if (end > bytes.length) break;
      yield bytes.subarray(offset + 4, end);
      offset = end;
    }
    this.#chunks = offset === bytes.length ? [] : [bytes.subarray(offset)];
    this.#buffered = bytes.length - offset;
  }

  /** How many bytes complete the next frame or its length. Without this, each chunk would copy the chunks before it. */
  #wanted(): number {
    const first = this.#chunks[0] as Buffer; // There is at least the chunk that was just pushed.
    if (first.length < 4) return 4;
    return 4 + this.#lengthAt(first, 0);
  }

  #lengthAt(bytes: Buffer, offset: number): number {
    const length = bytes.readInt32BE(offset);
    if (length < 0 || length > this.limit) {
      throw new RangeError(`a frame of ${length} bytes: expected 0 to ${this.limit}`);
    }
    return length;
  }
}
