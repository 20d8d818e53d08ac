import { type NumberRange, numbersIn, rangesOf as rangesOfNumbers } from './ranges.js';
import type { ShardList } from './shard-list.js';

/** Shards as a node has them: ranges of their numbers, in order. Ids that the list hasn't are left out. */
export function rangesOf(shards: Iterable<string>, list: ShardList): NumberRange[] {
  return rangesOfNumbers([...shards].flatMap((shard) => list.numberOf(shard) ?? []));
}

/**
 * The ids of the shards in those ranges, in order. Numbers that the list hasn't are left out.
 * @returns `undefined` if these aren't ranges in order: any client may have written them
 */
export function shardsIn(ranges: unknown, list: ShardList): string[] | undefined {
  return numbersIn(ranges, list.count)?.map((number) => list.ids[number] as string);
}
