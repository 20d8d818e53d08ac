/** The secret from which ZooKeeper's servers make a session's password (`ZooKeeperServer.superSecret`). It is the same everywhere. */
const SUPER_SECRET = 0xb3415c00n;
const PASSWORD_BYTES = 16;

/**
 * A session's password, which follows from its id: any client that reads an ephemeral node's owner can take the session
 * over.
 *
 * @param {bigint} id
 */
export function sessionPassword(id) {
  return javaRandomBytes(id ^ SUPER_SECRET, PASSWORD_BYTES);
}

/**
 * `new java.util.Random(seed).nextBytes(new byte[length])`.
 *
 * @param {bigint} seed
 * @param {number} length
 */
function javaRandomBytes(seed, length) {
  const multiplier = 0x5deece66dn;
  const bytes = Buffer.alloc(length);
  let state = BigInt.asUintN(48, seed ^ multiplier);
  for (let offset = 0; offset < length; offset += 4) {
    state = BigInt.asUintN(48, state * multiplier + 0xbn);
    bytes.writeUInt32LE(Number(state >> 16n), offset);
  }
  return bytes;
}
