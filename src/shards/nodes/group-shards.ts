import type { ShardList } from './shard-list.js';
import { shardsIn } from './shard-ranges.js';

/** The shards of a group, as its node says at one of its versions. */
export interface GroupShards {
  readonly list: ShardList;
  /** The version of the group's node. Each change of the list raises it. */
  readonly version: number;
}

/**
 * The ids of shards that a node has by their numbers in the list of a version. Numbers mean the same in every list that was given by
 * number.
 * @param version - as it was read
 * @returns `unknown` if they are of another list of names; `undefined` if they can't be read: any client may have written them
 */
export function idsOf(
  ranges: unknown,
  version: unknown,
  { list, version: known }: GroupShards,
): string[] | 'unknown' | undefined {
  if (!Number.isSafeInteger(version)) return undefined;
  return version === known || list.isNumbered ? shardsIn(ranges, list) : 'unknown';
}
