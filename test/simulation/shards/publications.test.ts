import { describe, expect, it } from 'vitest';
import { serializeRecord } from '../../../src/election/record/election-record.js';
import { serializeOwned } from '../../../src/shards/stored/data-formats.js';
import { GroupPaths } from '../../../src/shards/stored/group-paths.js';
import { ShardList } from '../../../src/shards/stored/shard-list.js';
import { GROUP } from './member-process.js';
import { wronglyPublished } from './publications.js';

const PATHS = new GroupPaths(GROUP);
const [A, B] = [0, 1].map(
  (number) => `_c_00000000-0000-4000-8000-00000000000${number}-lock-000000000${number}`,
) as [string, string];

/** What is wrong in a group that had two shards, where the records name these owners and the members publish these numbers. */
function wrong(
  owners: readonly (string | undefined)[],
  published: Readonly<Record<string, readonly number[]>>,
  listed = 2,
): string[] {
  const nodes = new Map<string, { data: Buffer; version: number; children: string[] }>();
  const put = (path: string, data: Buffer, children: string[] = []) =>
    nodes.set(path, { data, version: 1, children });
  put(PATHS.members, Buffer.of(), Object.keys(published));
  for (const [member, numbers] of Object.entries(published))
    put(PATHS.ownedOf(member), serializeOwned(numbers));
  owners.forEach((node, shard) => {
    const record =
      node === undefined
        ? ({ state: 'vacant' } as const)
        : { state: 'held' as const, node, id: 'a', leaseMs: 2000 };
    put(PATHS.recordOf(String(shard)), serializeRecord({ ...record, term: 1 }));
  });
  const isListed = (shard: string) => Number(shard) < listed;
  return wronglyPublished((path) => nodes.get(path), ShardList.of(2), isListed);
}

describe('what members publish beside the records', () => {
  it('is right if each owner publishes its shards, and nothing else', () => {
    expect(wrong([A, B], { [A]: [0], [B]: [1] })).toEqual([]);
    expect(wrong([A, undefined], { [A]: [0], [B]: [] })).toEqual([]);
  });

  it('is wrong if an owner leaves out a shard that the group has', () => {
    expect(wrong([A, B], { [A]: [0], [B]: [] })).toEqual([`shard 1 is ${B}, and published by `]);
  });

  it('is wrong if another member publishes a shard', () => {
    expect(wrong([A, B], { [A]: [0, 1], [B]: [1] })).toHaveLength(1);
    expect(wrong([A, undefined], { [A]: [0], [B]: [1] })).toHaveLength(1);
  });

  it('may leave out a shard that the group no longer has, while the work of its owner goes on', () => {
    expect(wrong([A, B], { [A]: [0], [B]: [] }, 1)).toEqual([]);
    expect(wrong([A, B], { [A]: [0], [B]: [1] }, 1)).toEqual([]);
    expect(wrong([A, B], { [A]: [0, 1], [B]: [] }, 1)).toHaveLength(1);
  });
});
