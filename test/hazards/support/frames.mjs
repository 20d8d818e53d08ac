/**
 * Cuts what comes in on a connection into ZooKeeper's frames: four bytes of length, then that many bytes.
 *
 * @returns {(chunk: Buffer) => Buffer[]} takes a chunk, and gives the frames that are complete now, without their lengths
 */
export function frameReader() {
  let bytes = Buffer.alloc(0);
  return (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    const frames = [];
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE(0)) {
      const end = 4 + bytes.readInt32BE(0);
      frames.push(bytes.subarray(4, end));
      bytes = bytes.subarray(end);
    }
    return frames;
  };
}
