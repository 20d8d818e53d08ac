import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type {
  DashboardState,
  ElectionView,
  GroupView,
  LockView,
} from '../../../../../src/dashboard/api-types.js';
import {
  electionTone,
  groupTone,
  headlineOf,
  leaderlessSince,
  lockTone,
  loudestFirst,
  matches,
} from '../../../../../src/dashboard/page/model/urgency-and-search.js';
import { electionView } from '../../../../support/conclave/election-views.js';
import { anyElection, anyState } from '../arbitrary-views.js';

const [anyOne] = fc.sample(anyState, 1) as [DashboardState];
const term = { term: 1, id: 'x', from: 1, to: 5, end: 'released' } as const;
const election = (name: string, state: ElectionView['state'], parts: Partial<ElectionView> = {}) =>
  electionView({ path: `/root/${name}`, state, leader: null, candidates: [], ...parts });
const stateOf = (elections: ElectionView[], groups: GroupView[] = []): DashboardState => ({
  ...anyOne,
  root: '/root',
  elections,
  groups,
  locks: [],
});
const group = (state: GroupView['state'], shards: string[] = ['0']): GroupView => ({
  path: '/root/g',
  state,
  shards,
  members: [],
  owners: [],
  pins: [],
  moves: [],
});

describe('what is wrong', () => {
  it('is an election with candidates and no leader, or that had one', () => {
    expect(electionTone(election('a', 'vacant'))).toBe('alarm');
    expect(electionTone(election('a', 'deserted', { terms: [term] }))).toBe('alarm');
    expect(electionTone(election('a', 'deserted'))).toBe('idle');
    expect(electionTone(election('a', 'taking-over'))).toBe('warning');
    expect(electionTone(election('a', 'unreadable'))).toBe('warning');
    expect(electionTone(election('a', 'led'))).toBe('well');
  });

  it('is a group with shards and no members; without an owner for some it is a warning', () => {
    expect(groupTone(group('deserted'))).toBe('alarm');
    expect(groupTone(group('deserted', []))).toBe('idle');
    expect(groupTone(group('incomplete'))).toBe('warning');
    expect(groupTone(group('owned'))).toBe('well');
  });

  it('is never a lock', () => {
    const lock: LockView = { path: '/l', kind: 'lock', capacity: 1, queue: [], holding: 0 };
    expect(lockTone(lock)).toBe('idle');
    expect(lockTone({ ...lock, queue: [{ node: 'n', id: '', shared: false, since: 0 }] })).toBe('well');
  });

  it('comes first, and the rest stays in its order', () => {
    const views = [
      election('a', 'led'),
      election('b', 'deserted'),
      election('c', 'taking-over'),
      election('d', 'vacant'),
      election('e', 'led'),
    ];
    const names = loudestFirst(views, electionTone).map(({ path }) => path.at(-1));
    expect(names.join('')).toBe('dcabe');
  });

  it('is known since the last term has ended', () => {
    expect(leaderlessSince(election('a', 'vacant', { terms: [term, { ...term, to: 7 }] }))).toBe(7);
    expect(
      leaderlessSince(election('a', 'vacant', { terms: [{ ...term, to: null, end: null }] })),
    ).toBeNull();
    expect(leaderlessSince(election('a', 'vacant'))).toBeNull();
  });
});

describe('the headline', () => {
  it('names the election without a leader, or says how many there are', () => {
    const one = headlineOf(stateOf([election('a', 'led'), election('pay', 'vacant')]), true);
    expect(one).toMatchObject({ tone: 'alarm', text: 'no leader – pay', title: '✕ no leader – pay' });
    const two = headlineOf(stateOf([election('a', 'vacant'), election('b', 'vacant')]), true);
    expect(two.title).toBe('✕ 2 without a leader – a');
    expect(two.text).toBe('2 elections · 2 without a leader');
  });

  it('says that all are led, and how many have no candidates', () => {
    expect(headlineOf(stateOf([election('a', 'led')]), true).text).toBe('1 election · all led');
    expect(headlineOf(stateOf([election('a', 'led'), election('b', 'deserted')]), true).text).toBe(
      '2 elections · 1 led, 1 without candidates',
    );
    expect(headlineOf(stateOf([]), true)).toMatchObject({ tone: 'well', text: 'no elections' });
  });

  it('warns of what changes hands, of a group without members, and of what is old', () => {
    expect(headlineOf(stateOf([election('a', 'taking-over')]), true).tone).toBe('warning');
    expect(headlineOf(stateOf([], [group('deserted')]), true).title).toBe('✕ no member – g');
    const old = headlineOf(stateOf([election('a', 'led')]), false);
    expect(old).toMatchObject({ tone: 'warning', title: '? 1 election · all led – Conclave' });
    expect(headlineOf(stateOf([election('a', 'vacant')]), false).tone).toBe('alarm');
  });

  it('is an alarm exactly if an election is, where there are no groups', () => {
    fc.assert(
      fc.property(fc.array(anyElection), (elections) => {
        const isAlarm = elections.some((each) => electionTone(each) === 'alarm');
        expect(headlineOf(stateOf(elections), true).tone === 'alarm').toBe(isAlarm);
      }),
    );
  });
});

it('the search finds paths, leaders, candidates, members and holders by all words', () => {
  const candidate = { id: 'Worker-7', node: 'n', position: 0, priority: 0, leads: false };
  const view = election('payments', 'led', { candidates: [candidate] });
  expect(matches('', view)).toBe(true);
  expect(matches('PAY worker-7', view)).toBe(true);
  expect(matches('pay other', view)).toBe(false);
  const member = { id: 'm1', node: 'n', weight: 1, planner: false };
  expect(matches('m1', { ...group('owned'), members: [member] })).toBe(true);
  const holder = { node: 'n', id: 'nightly', shared: false, since: 0 };
  expect(matches('night', { path: '/l', kind: 'lock', capacity: 1, queue: [holder], holding: 1 })).toBe(true);
});
