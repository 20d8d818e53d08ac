import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type {
  DashboardChange,
  DashboardState,
  GroupChange,
  GroupView,
  TransitionView,
} from '../../../../../src/dashboard/api-types.js';
import {
  applyChange,
  heartbeatOf,
  type Model,
  modelOf,
  share,
} from '../../../../../src/dashboard/page/model/apply-change.js';
import { anyState } from '../arbitrary-views.js';

/** The change that a server would send when one state follows another. It has only the differences. */
function changeBetween(former: DashboardState, next: DashboardState): DashboardChange {
  const differing = <View extends { path: string }>(before: readonly View[], after: readonly View[]) =>
    after.filter(
      (view) => JSON.stringify(view) !== JSON.stringify(before.find(({ path }) => path === view.path)),
    );
  const pathsOf = ({ elections, locks, groups }: DashboardState) =>
    [...elections, ...locks, ...groups].map(({ path }) => path);
  const left = new Set(pathsOf(next));
  return {
    now: next.now,
    connected: next.connected,
    disconnectedSince: next.disconnectedSince,
    elections: differing(former.elections, next.elections),
    locks: differing(former.locks, next.locks),
    groups: differing(former.groups, next.groups),
    removed: pathsOf(former).filter((path) => !left.has(path)),
  };
}

/** The state with the newest heartbeats in it. */
function snapshotOf(model: Model): DashboardState {
  const elections = model.state.elections.map((election) => {
    const { path, leader } = election;
    if (leader === null) return election;
    return { ...election, leader: { ...leader, heartbeatAt: heartbeatOf(model, path, leader) } };
  });
  return { ...model.state, elections };
}

const transition = (at: number): TransitionView => ({ at, path: '/a', kind: 'elected', id: null });

describe('the changes that the page applies', () => {
  it('make any state out of any other, with views that were the same still the same objects', () => {
    fc.assert(
      fc.property(anyState, anyState, (former, next) => {
        const before = modelOf(former);
        const change = changeBetween(former, next);
        const after = applyChange(before, JSON.parse(JSON.stringify(change)));
        expect(snapshotOf(after)).toEqual(next);
        const same = before.state.elections.filter(
          ({ path }) =>
            next.elections.some((view) => view.path === path) &&
            !change.elections?.some((view) => view.path === path),
        );
        for (const view of same) expect(after.state.elections).toContain(view);
      }),
    );
  });

  it('are forgotten at a new state, which shares with the former one what is equal', () => {
    fc.assert(
      fc.property(anyState, anyState, (former, next) => {
        const before = modelOf(former);
        expect(modelOf(JSON.parse(JSON.stringify(former)), before).state).toBe(before.state);
        expect(snapshotOf(modelOf(JSON.parse(JSON.stringify(next)), before))).toEqual(next);
      }),
    );
  });

  it('may be heartbeats alone: then no view is another object', () => {
    const at = 77;
    fc.assert(
      fc.property(anyState, (state) => {
        const model = modelOf(state);
        const led = state.elections.flatMap(({ path, leader }) => (leader === null ? [] : [{ path, at }]));
        const after = applyChange(model, { now: 9, heartbeats: led });
        expect(after.state.elections).toBe(model.state.elections);
        const seen = snapshotOf(after).elections;
        expect(seen.every(({ leader }) => leader === null || leader.heartbeatAt === at)).toBe(true);
      }),
    );
  });

  it('take back the heartbeats of the leaders before, when another one leads', () => {
    fc.assert(
      fc.property(anyState, anyState, (former, next) => {
        const heartbeats = former.elections.map(({ path }) => ({ path, at: 1 }));
        const model = applyChange(modelOf(former), { now: 1, heartbeats });
        const after = applyChange(model, { ...changeBetween(former, next), elections: next.elections });
        expect(snapshotOf(after)).toEqual(next);
      }),
    );
  });

  it('of the owners of some shards leave the others', () => {
    const group: GroupView = {
      path: '/g',
      state: 'owned',
      shards: ['0', '1'],
      members: [{ id: 'x', node: 'n', weight: 1, planner: true }],
      owners: [0, 0],
      pins: [],
      moves: [{ at: 1, shard: '0', from: null, to: 'x' }],
    };
    const model: Model = {
      ...modelOf({ ...(fc.sample(anyState, 1)[0] as DashboardState), groups: [group] }),
    };
    const lost: GroupChange = {
      path: '/g',
      state: 'incomplete',
      owned: [[1, -1]],
      moves: [{ at: 2, shard: '1', from: 'x', to: null }],
    };
    const without = applyChange(model, { now: 2, groups: [lost] });
    expect(without.state.groups[0]).toMatchObject({ owners: [0, -1], state: 'incomplete' });
    expect(without.state.groups[0]?.moves.map(({ at }) => at)).toEqual([2, 1]);
    const found = applyChange(without, {
      now: 3,
      groups: [{ path: '/g', state: 'owned', owned: [[1, 0]], moves: [] }],
    });
    expect(found.state.groups[0]).toMatchObject({ owners: [0, 0], state: 'owned' });
    const unknown = applyChange(model, { now: 2, groups: [{ ...lost, path: '/other' }] });
    expect(unknown.state.groups).toEqual([group]);
  });

  it('put the newest transitions first, and keep 200', () => {
    const [state] = fc.sample(anyState, 1) as [DashboardState];
    const known = Array.from({ length: 199 }, (_, index) => transition(500 - index));
    const model = modelOf({ ...state, transitions: known });
    const after = applyChange(model, { now: 1, transitions: [transition(502), transition(501)] });
    expect(after.state.transitions.map(({ at }) => at)).toEqual(
      Array.from({ length: 200 }, (_, index) => 502 - index),
    );
  });
});

const anyJson = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)));

it('a value that shares with a former one is equal to what it was', () => {
  fc.assert(
    fc.property(anyJson, anyJson, (former, value) => {
      fc.pre(!JSON.stringify([former, value]).includes('__proto__'));
      expect(share(former, value)).toEqual(value);
    }),
  );
});

it('a value that is equal to a former one is that one, and so is each of its parts', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      fc.pre(!JSON.stringify(value).includes('__proto__'));
      const former = { part: value, other: 1 };
      expect(share(former, { part: structuredClone(value), other: 1 })).toBe(former);
      expect(share(former, { part: structuredClone(value), other: 2 }).part).toBe(former.part);
    }),
  );
});

it('a list is not an object with its indices', () => {
  expect(share({ 0: 'a' }, ['a'])).toEqual(['a']);
  expect(share(['a'], { 0: 'a' })).toEqual({ 0: 'a' });
});
