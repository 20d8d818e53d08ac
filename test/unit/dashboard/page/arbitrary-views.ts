import fc from 'fast-check';
import type {
  DashboardState,
  ElectionView,
  GroupView,
  LeaderView,
  LockView,
  TermView,
} from '../../../../src/dashboard/api-types.js';

const time = fc.integer({ min: 1_000, max: 2_000_000 });
const name = fc.constantFrom('a', 'b', 'c', 'd', '✕', '<b>', '__proto__', '');

const leader: fc.Arbitrary<LeaderView | null> = fc.option(
  fc.record({
    id: name,
    node: name,
    term: fc.nat(5),
    since: time,
    leaseMs: fc.constant(2_000),
    heartbeatAt: fc.option(time),
  }),
);

const term: fc.Arbitrary<TermView> = fc.record({
  term: fc.nat(9),
  id: fc.option(name),
  from: time,
  to: fc.option(time),
  end: fc.constantFrom('released', 'handed-over', 'taken-over', 'session-ended', 'unknown', null),
});

/** An election with its terms in the order of time, as the server sends them. The terms don't overlap. */
function election(path: string): fc.Arbitrary<ElectionView> {
  const states = fc.constantFrom('led', 'vacant', 'taking-over', 'deserted', 'unreadable');
  return fc.record({
    path: fc.constant(path),
    state: states,
    leader,
    candidates: fc.constant([]),
    next: fc.constant(null),
    terms: fc.array(term, { maxLength: 4 }),
  });
}

function lock(path: string): fc.Arbitrary<LockView> {
  return fc.record({
    path: fc.constant(path),
    kind: fc.constantFrom('lock', 'read-write', 'semaphore'),
    capacity: fc.nat(3),
    queue: fc.constant([]),
    holding: fc.constant(0),
  });
}

function group(path: string): fc.Arbitrary<GroupView> {
  return fc.record({
    path: fc.constant(path),
    state: fc.constantFrom('owned', 'incomplete', 'deserted', 'unreadable'),
    shards: fc.constant(['0', '1', '2']),
    members: fc.constant([
      { id: 'x', node: 'n0', weight: 1, planner: true },
      { id: 'y', node: 'n1', weight: 1, planner: false },
    ]),
    owners: fc.array(fc.integer({ min: -1, max: 1 }), { minLength: 3, maxLength: 3 }),
    pins: fc.constant([]),
    moves: fc.constant([]),
  });
}

function someOf<View>(kind: string, view: (path: string) => fc.Arbitrary<View>): fc.Arbitrary<View[]> {
  return fc
    .subarray(['1', '2', '3', '4'])
    .chain((names) => fc.tuple(...names.map((each) => view(`/${kind}${each}`))));
}

/** A state with its views in the order of their paths. */
export const anyState: fc.Arbitrary<DashboardState> = fc.record({
  now: time,
  root: fc.constant('/'),
  connected: fc.boolean(),
  disconnectedSince: fc.option(time),
  mayAct: fc.constant(false),
  elections: someOf('election', election),
  locks: someOf('lock', lock),
  groups: someOf('group', group),
  servers: fc.constant([]),
  transitions: fc.constant([]),
});
export const anyElection: fc.Arbitrary<ElectionView> = election('/one');
