import { parseJsonObject } from '../../platform/json.js';
import { numbersIn, rangesOf } from './ranges.js';
import { MOST_SHARDS } from './shard-list.js';

const FORMAT = 'conclave.owned.1';

/** What a member publishes: the numbers of the shards whose records name it. */
export function serializeOwned(shards: readonly number[]): Buffer {
  return Buffer.from(JSON.stringify({ format: FORMAT, shards: rangesOf(shards) }));
}

/**
 * The numbers, in order, whatever the number of shards: an observer may read the list of them later. `undefined` if it is no publication.
 */
export function parseOwned(data: Buffer): number[] | undefined {
  const value = parseJsonObject(data);
  return value?.format === FORMAT ? numbersIn(value.shards, MOST_SHARDS) : undefined;
}
