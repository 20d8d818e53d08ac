import { createHash } from 'node:crypto';
import { InvalidOptionError } from '../errors.js';

const HASHED_BYTES = 6; // The most whose number a double holds exactly.

/**
 * The number of the shard, from 0 to `count - 1`, to which a key belongs. The same in every version, and easy to compute in any
 * language: the first six bytes of the SHA-256 of the key (of its UTF-8, for a string), as an unsigned big-endian number, modulo the
 * number of shards. Keys are spread evenly.
 *
 * Another number of shards moves most keys, as any remainder does. Twice the number splits each shard: what was in shard `i` of `n` is in
 * `i` or `i + n` of `2 n`.
 *
 * @throws InvalidOptionError unless the key is a string or bytes, and the number of shards a whole number over 0
 */
export function shardOf(key: string | Uint8Array, count: number): number {
  if (typeof key !== 'string' && !(key instanceof Uint8Array))
    throw new InvalidOptionError('key', key, 'a string or a Uint8Array');
  if (!Number.isSafeInteger(count) || count < 1)
    throw new InvalidOptionError('count', count, 'a whole number of shards, 1 or more');
  return createHash('sha256').update(key).digest().readUIntBE(0, HASHED_BYTES) % count;
}
