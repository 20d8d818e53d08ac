import { describe, expect, it } from 'vitest';
import { StickyAssignment } from '../../../../src/shards/members/sticky-assignment.js';
import { parseHome } from '../../../../src/shards/stored/data-formats.js';
import { ShardList } from '../../../../src/shards/stored/shard-list.js';
import { PATHS } from '../../../support/conclave/group-members.js';

const KNOWN = { list: ShardList.of(8), version: 3 };
const UUID = '0f8fad5b-d9cb-869f-a165-70867728950e';
const MEMBER = `_c_${UUID}-lock-0000000007`;

function homeOf(keeper: StickyAssignment, owned: string[]) {
  const node = keeper.nodeOf(PATHS, MEMBER, owned, KNOWN);
  return node && { path: node.path, ...parseHome(node.data, KNOWN) };
}

describe('what a member leaves behind', () => {
  it('is what it owns as it leaves, under its id', () => {
    const keeper = new StickyAssignment({ id: 'a/b', weight: 2, keepsHome: true, graceMs: 500 });
    expect(homeOf(keeper, ['1', '2'])).toEqual({
      ...{ path: '/group/homes/a%2Fb', id: 'a/b', member: UUID, weight: 2, graceMs: 500 },
      shards: ['1', '2'],
    });
    expect(homeOf(keeper, [])).toBeUndefined();
  });

  it('is what it owned before it drained, unless it drains no more', () => {
    const keeper = new StickyAssignment({ id: 'a', weight: 1, keepsHome: true });
    keeper.drains(['1', '2']);
    keeper.drains(['2']);
    expect(homeOf(keeper, [])?.shards).toEqual(['1', '2']);
    keeper.drainsNoMore();
    expect(homeOf(keeper, ['3'])?.shards).toEqual(['3']);
  });

  it('is nothing unless it keeps its home', () => {
    expect(homeOf(new StickyAssignment({ id: 'a', weight: 1 }), ['1'])).toBeUndefined();
  });
});
