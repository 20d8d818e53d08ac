/** The frames of a connection. Four bytes before each frame give its length. */

export const LENGTH_BYTES = 4;

/** @param {Uint8Array} payload */
export function framed(payload) {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}

/** Cuts the bytes of one direction of a connection into frames. Apart from `src`, as {@link import('./jute.mjs')} is. */
export class FrameReader {
  /** @type {Buffer} */
  #rest = Buffer.alloc(0);

  /** The bytes that make no whole frame yet. */
  get rest() {
    return this.#rest;
  }

  /**
   * Takes the bytes that have arrived, and returns the frames that are complete now, without their lengths. After a length
   * below 0 there are no more frames.
   *
   * @param {Buffer} chunk
   */
  push(chunk) {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames = [];
    while (bytes.length >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + bytes.readInt32BE();
      if (end < LENGTH_BYTES || bytes.length < end) break;
      frames.push(bytes.subarray(LENGTH_BYTES, end));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
    return frames;
  }
}
