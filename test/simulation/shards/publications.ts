import { parseRecord } from '../../../src/election/record/election-record.js';
import { parseEntry } from '../../../src/queue/names-and-order.js';
import { parseOwned } from '../../../src/shards/stored/data-formats.js';
import { GroupPaths } from '../../../src/shards/stored/group-paths.js';
import type { ShardList } from '../../../src/shards/stored/shard-list.js';
import { GROUP } from './member-process.js';

interface Node {
  readonly data: Uint8Array | null;
  readonly version: number;
  readonly children: Iterable<string> | undefined;
}

const bytesOf = (node: Node | undefined) => Buffer.from(node?.data ?? []);

/**
 * The shards for which the present members don't publish what the records say, each with both values. If the group no longer has a
 * shard, its owner stops publishing it once it has read the new list, though the owner's work may go on. Then only another member's
 * publication is wrong.
 * @param all - each shard that the group has or had
 * @param isListed - whether the group has it now
 */
export function wronglyPublished(
  read: (path: string) => Node | undefined,
  all: ShardList,
  isListed: (shard: string) => boolean,
): string[] {
  const paths = new GroupPaths(GROUP);
  const members = [...(read(paths.members)?.children ?? [])].filter((node) => parseEntry(node) !== undefined);
  const published = new Map(
    members.map((node) => [node, new Set(parseOwned(bytesOf(read(paths.ownedOf(node)))))]),
  );
  return all.ids.flatMap((shard, number) => {
    const record = read(paths.recordOf(shard));
    const { node } = { node: undefined, ...parseRecord(bytesOf(record), record?.version ?? 0) };
    const by = members.filter((each) => published.get(each)?.has(number) === true);
    const owner = members.find((each) => each === node);
    const isRight = owner === undefined ? by.length === 0 : by.join() === owner;
    const isLeftOut = by.length === 0 && !isListed(shard);
    return isRight || isLeftOut
      ? []
      : [`shard ${shard} is ${node ?? 'vacant'}, and published by ${by.join(' and ')}`];
  });
}
