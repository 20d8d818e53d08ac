import fc from 'fast-check';
import type {
  CandidateView,
  ElectionView,
  LeaderView,
  OverviewState,
} from '../../../src/overview/model/view-types.js';

export const NOW = 1_800_000_000_000;

export const LEADER: LeaderView = {
  id: 'one',
  node: 'n1',
  term: 7,
  since: NOW - 125_000,
  leaseMs: 2000,
  heartbeatAt: NOW - 400,
};

const ONE: CandidateView = { id: 'one', node: 'n1', position: 0, priority: 0, leads: true, data: 'here' };
const TWO: CandidateView = { id: 'two', node: 'n2', position: 1, priority: 0, leads: false };

/** An election with a leader, unless the argument says otherwise. */
export function electionView(given: Partial<ElectionView> = {}): ElectionView {
  return {
    path: '/a',
    state: 'led',
    leader: LEADER,
    candidates: [ONE, TWO],
    next: null,
    terms: [],
    ...given,
  };
}

export function stateOf(
  elections: readonly ElectionView[],
  more: Partial<OverviewState> = {},
): OverviewState {
  const nothing = { locks: [], groups: [], servers: [], transitions: [] };
  return { connected: true, disconnectedSince: null, elections, ...nothing, ...more };
}

const text = fc.string({ unit: 'binary', maxLength: 60 });
const leader: fc.Arbitrary<LeaderView> = fc.record({
  id: text,
  node: text,
  term: fc.maxSafeNat(),
  since: fc.integer({ min: 0, max: NOW * 2 }),
  leaseMs: fc.nat(10_000_000),
  heartbeatAt: fc.option(fc.integer({ min: 0, max: NOW * 2 })),
});

/** An election with names that other clients may have written. */
export const anyElection: fc.Arbitrary<ElectionView> = fc
  .record({
    path: text.map((name) => `/${name}`),
    state: fc.constantFrom<ElectionView['state']>('led', 'vacant', 'taking-over', 'deserted', 'unreadable'),
    leader: fc.option(leader),
  })
  .map(electionView);
