import { describe, expect, it } from 'vitest';
import { itemsOf, itemTable } from '../../../../src/cli/status/items-and-table.js';
import { itemJson, type ShownItem } from '../../../../src/cli/status/shown-item.js';
import type { GroupView, LockView } from '../../../../src/overview/model/views.js';
import { electionView, NOW, stateOf } from '../../../support/conclave/election-views.js';

const contender = (id: string, shared = false) => ({ node: `n-${id}`, id, shared, since: NOW - 3000 });

const LOCK: LockView = {
  ...{ path: '/l', kind: 'lock', capacity: 1, holding: 1 },
  queue: [contender('one\n'), contender('two')],
};
const SEMAPHORE: LockView = {
  ...{ path: '/s', kind: 'semaphore', capacity: 3, holding: 2 },
  queue: [contender('one'), contender('two')],
};
const READERS: LockView = {
  ...{ path: '/r', kind: 'read-write', capacity: 1, holding: 1 },
  queue: [contender('one', true), contender('two')],
};
const FREE: LockView = { path: '/f', kind: 'semaphore', capacity: 3, holding: 0, queue: [] };

const GROUP: GroupView = {
  ...{ path: '/g', state: 'incomplete', shards: ['0', '1', '2'], owners: [0, 0, -1], pins: [], moves: [] },
  members: [
    { id: 'a', node: 'n1', weight: 1, planner: true },
    { id: 'b', node: 'n2', weight: 1, planner: false },
  ],
};

function items(locks: readonly LockView[], groups: readonly GroupView[] = []): ShownItem[] {
  return itemsOf(stateOf([], { locks, groups }));
}

it('locks and groups have rows in the table of elections, in the order of the paths', () => {
  const state = stateOf([electionView()], { locks: [LOCK, SEMAPHORE, FREE], groups: [GROUP] });
  expect(itemTable(itemsOf(state), NOW, 200)).toEqual([
    'PATH  KIND       STATE       LEADER     TERM  SINCE         LEASE  CANDIDATES',
    '/a    election   led         one           7  2m 5s  1.6s of 2.0s           2',
    '/f    semaphore  free        -             -      -             -           0',
    '/g    group      incomplete  -             -      -             -           2',
    '/l    lock       held        one\\u000a     -     3s             -           2',
    '/s    semaphore  held        one +1        -     3s             -           2',
  ]);
});

describe('a lock', () => {
  it('in one line says who holds it, and how many want it', () => {
    expect(items([FREE, LOCK, SEMAPHORE]).map(({ line }) => line)).toEqual([
      '/f  free  -  0 contenders',
      '/l  held  one\\u000a  2 contenders',
      '/s  held  one +1  2 contenders',
    ]);
  });

  it('in detail says who holds it and who waits', () => {
    expect(items([LOCK, SEMAPHORE, READERS, FREE]).map((item) => item.details(NOW))).toEqual([
      ['semaphore  0 of 3 held'],
      ['lock  held', 'holds  one\\u000a  joined 3s ago', 'waits  two  joined 3s ago'],
      ['read-write  held', 'holds  one  shared  joined 3s ago', 'waits  two  joined 3s ago'],
      ['semaphore  2 of 3 held', 'holds  one  joined 3s ago', 'holds  two  joined 3s ago'],
    ]);
  });

  it('as JSON has all that is known of it', () => {
    const [item] = items([SEMAPHORE]) as [ShownItem];
    const { path, ...facts } = SEMAPHORE;
    expect(itemJson(item)).toEqual({ lock: path, ...facts });
    expect([item.isServed, items([FREE])[0]?.isServed]).toEqual([true, false]);
  });
});

describe('a group of shards', () => {
  const [item] = items([], [GROUP]) as [ShownItem];

  it('in one line and in detail says how many shards have an owner', () => {
    expect(item.line).toBe('/g  incomplete  2 of 3 shards owned  2 members');
    expect(item.details(NOW)).toEqual([
      'incomplete  2 of 3 shards owned',
      'member a  owns 2  plans',
      'member b  owns 0',
    ]);
  });

  it('as JSON has all but its past moves', () => {
    const { path, moves: _, ...facts } = GROUP;
    expect(itemJson(item)).toEqual({ group: path, ...facts });
    expect([item.isServed, items([], [{ ...GROUP, state: 'owned' }])[0]?.isServed]).toEqual([false, true]);
  });
});
