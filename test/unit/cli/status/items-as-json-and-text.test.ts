import fc from 'fast-check';
import textWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import {
  electionItem,
  itemJson,
  itemsOf,
  itemTable,
  type ShownItem,
} from '../../../../src/cli/status/items-as-json-and-text.js';
import type {
  CandidateView,
  ElectionView,
  GroupView,
  LockView,
} from '../../../../src/overview/model/view-types.js';
import { anyElection, electionView, LEADER, NOW, stateOf } from '../../../support/conclave/election-views.js';

const electionLine = (view: ElectionView) => electionItem(view).line;
const electionJson = (view: ElectionView) => itemJson(electionItem(view));
const electionDetails = (view: ElectionView) => electionItem(view).details(NOW);
const electionTable = (views: readonly ElectionView[], width: number) =>
  itemTable(itemsOf(stateOf(views)), NOW, width);

describe('an election in one line', () => {
  it('says who leads in which term, and how many candidates there are', () => {
    expect(electionLine(electionView())).toBe('/a  led  one term 7  2 candidates');
    expect(
      electionLine(electionView({ path: '/a\n', candidates: [], leader: null, state: 'deserted' })),
    ).toBe('/a\\u000a  deserted  -  0 candidates');
  });

  it('does not change with the heartbeats', () => {
    const later = electionView({ leader: { ...LEADER, heartbeatAt: NOW } });
    expect(electionLine(later)).toBe(electionLine(electionView()));
  });

  it('as JSON has all but its past terms', () => {
    const { path, terms: _, ...rest } = electionView();
    expect(electionJson(electionView())).toEqual({ election: path, ...rest });
  });
});

describe('an election in detail', () => {
  it('says who leads, with what it advertises, how old its heartbeat is, and who waits', () => {
    expect(electionDetails(electionView())).toEqual([
      'term 7  one  here  for 2m 5s',
      "heartbeat  400 ms ago, by the servers' clock and this machine's",
      'waits  two',
    ]);
    const ahead = electionView({ leader: { ...LEADER, heartbeatAt: NOW + 50 } }); // The servers' clock may be ahead.
    expect(electionDetails(ahead)[1]).toMatch(/^heartbeat {2}0 ms ago/);
  });

  it('shows those that wait in the order in which they will lead, with their priorities, also as JSON', () => {
    const [leader, first] = electionView().candidates as [CandidateView, CandidateView];
    const preferred = { ...first, id: 'three', node: 'n3', position: 2, priority: 7, data: 'there' };
    const view = electionView({ candidates: [first, leader, preferred] });
    expect(electionDetails(view).slice(2)).toEqual(['waits  three  priority 7  there', 'waits  two']);
    expect(electionJson(view)).toMatchObject({ candidates: [{ id: 'one' }, { id: 'three' }, { id: 'two' }] });
  });

  it('says that there is no leader', () => {
    expect(electionDetails(electionView({ leader: null }))).toEqual([
      'nobody leads',
      'waits  one  here',
      'waits  two',
    ]);
  });
});

describe('the table of elections', () => {
  it('shows leader, term, since when, what is left of the lease, and how many candidates there are', () => {
    const views = [
      electionView({ path: '/b', state: 'deserted', leader: null, candidates: [] }),
      electionView({ path: '/a' }),
    ];
    expect(electionTable(views, 200)).toEqual([
      'PATH  KIND      STATE     LEADER  TERM  SINCE         LEASE  CANDIDATES',
      '/a    election  led       one        7  2m 5s  1.6s of 2.0s           2',
      '/b    election  deserted  -          -      -             -           0',
    ]);
  });

  it.each([
    [{ heartbeatAt: null }, '2.0s'],
    [{ heartbeatAt: NOW + 50 }, '2.0s of 2.0s'], // The servers' clock may be ahead.
    [{ heartbeatAt: NOW - 5000 }, 'over for 3s'],
    [{ heartbeatAt: NOW - 2000 }, '0.0s of 2.0s'],
  ])('says of a lease with %j: %s', (leader, text) => {
    const [, row] = electionTable([electionView({ leader: { ...LEADER, ...leader } })], 200);
    expect(row).toContain(`  ${text}  `);
  });

  it('leaves the least important out where there is no room, and never what election it is', () => {
    const at = (width: number) => electionTable([electionView({ path: '/elections/scheduler' })], width);
    expect(at(60)[0]).toBe('PATH                  STATE  LEADER  TERM  SINCE  CANDIDATES');
    expect(at(30)[0]).toBe('PATH             STATE  LEADER');
    expect(at(12)).toEqual(['PATH', '…s/scheduler']);
  });

  it('is never wider than the terminal, whatever other clients have written, and sends it no commands', () => {
    fc.assert(
      fc.property(
        fc.array(anyElection, { maxLength: 5 }),
        fc.integer({ min: 1, max: 160 }),
        (views, width) => {
          const lines = electionTable(views, width);
          for (const line of lines) {
            expect(textWidth(line)).toBeLessThanOrEqual(width);
            expect(line).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
          }
        },
      ),
    );
  });
});

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
