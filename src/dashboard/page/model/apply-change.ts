import { byPath } from '../../../platform/zookeeper-paths.js';
import type { DashboardChange, DashboardState, GroupChange, GroupView, LeaderView } from '../../api-types.js';

const MOST_TRANSITIONS = 200;
const MOST_MOVES = 100;

/** What the page knows. */
export interface Model {
  /** Elections, locks and groups in the order of their paths. */
  readonly state: DashboardState;
  /**
   * Heartbeats that are newer than those in `state`, by the elections' paths. They are apart because heartbeats come all the
   * time. If a heartbeat changed `state`, the page would draw the whole view again.
   */
  readonly heartbeats: ReadonlyMap<string, number>;
}

/** @param former - the model until now. Parts of it that are equal in `state` stay the same objects. */
export function modelOf(state: DashboardState, former?: Model): Model {
  const sorted: DashboardState = {
    ...state,
    elections: [...state.elections].sort(byPath),
    locks: [...state.locks].sort(byPath),
    groups: [...state.groups].sort(byPath),
  };
  return { state: share(former?.state, sorted), heartbeats: new Map() };
}

export function applyChange({ state, heartbeats }: Model, change: DashboardChange): Model {
  const removed = new Set(change.removed);
  const limits = change.limits ?? state.limits;
  const next: DashboardState = {
    ...state,
    now: change.now,
    connected: change.connected ?? state.connected,
    disconnectedSince:
      change.disconnectedSince === undefined ? state.disconnectedSince : change.disconnectedSince,
    elections: merged(state.elections, change.elections ?? [], removed),
    locks: merged(state.locks, change.locks ?? [], removed),
    groups: merged(state.groups, groupsOf(state.groups, change.groups ?? []), removed),
    servers: change.servers ?? state.servers,
    ...(limits === undefined ? {} : { limits }),
    transitions: prepended(change.transitions, state.transitions, MOST_TRANSITIONS),
  };
  return { state: next, heartbeats: mergedHeartbeats(heartbeats, change, removed) };
}

/** When the leader's newest heartbeat was committed, by the dashboard's clock. */
export function heartbeatOf({ heartbeats }: Model, path: string, leader: LeaderView): number | null {
  return heartbeats.get(path) ?? leader.heartbeatAt;
}

/** The state with the newest heartbeats in it. */
export function snapshotOf(model: Model): DashboardState {
  const { state, heartbeats } = model;
  if (heartbeats.size === 0) return state;
  const elections = state.elections.map((election) => {
    const { path, leader } = election;
    return leader === null
      ? election
      : { ...election, leader: { ...leader, heartbeatAt: heartbeatOf(model, path, leader) } };
  });
  return { ...state, elections };
}

function mergedHeartbeats(
  former: ReadonlyMap<string, number>,
  { heartbeats = [], elections = [] }: DashboardChange,
  removed: ReadonlySet<string>,
): ReadonlyMap<string, number> {
  if (heartbeats.length === 0 && elections.length === 0 && removed.size === 0) return former;
  const merged = new Map(former);
  for (const path of removed) merged.delete(path);
  // A new view contains its leader's newest heartbeat, and may have another leader than before.
  for (const { path } of elections) merged.delete(path);
  for (const { path, at } of heartbeats) merged.set(path, at);
  return merged;
}

function groupsOf(known: readonly GroupView[], changes: readonly (GroupView | GroupChange)[]): GroupView[] {
  return changes.flatMap((change) => {
    if (!('owned' in change)) return [change];
    const group = known.find(({ path }) => path === change.path);
    return group === undefined ? [] : [withOwners(group, change)];
  });
}

function withOwners(group: GroupView, { state, owned, moves }: GroupChange): GroupView {
  const owners = [...group.owners];
  for (const [shard, member] of owned) if (shard < owners.length) owners[shard] = member;
  return { ...group, state, owners, moves: prepended(moves, group.moves, MOST_MOVES) };
}

function merged<View extends { readonly path: string }>(
  known: readonly View[],
  changed: readonly View[],
  removed: ReadonlySet<string>,
): readonly View[] {
  if (changed.length === 0 && removed.size === 0) return known;
  const left = new Map(changed.map((view) => [view.path, view]));
  const kept = known.flatMap((view) => {
    const { path } = view;
    const next = left.get(path);
    left.delete(path);
    // A change may remove an election and bring a lock with the same path. The view in the change counts.
    if (next !== undefined) return [share(view, next)];
    return removed.has(path) ? [] : [view];
  });
  return left.size === 0 ? kept : [...kept, ...left.values()].sort(byPath);
}

function prepended<T>(newer: readonly T[] | undefined, known: readonly T[], most: number): readonly T[] {
  return newer === undefined || newer.length === 0 ? known : [...newer, ...known].slice(0, most);
}

/**
 * Returns the new value, with each part that is equal to a part of the former value replaced by that part. The page doesn't
 * draw the same object again. So after a new connection it draws only the parts that have changed meanwhile.
 */
export function share<T>(former: unknown, value: T): T {
  if (former === value || typeof former !== 'object' || typeof value !== 'object') return value;
  if (former === null || value === null || Array.isArray(former) !== Array.isArray(value)) return value;
  const old = former as Record<string, unknown>;
  const shared = (Array.isArray(value) ? [] : {}) as Record<string, unknown>;
  const keys = Object.keys(value);
  let isSame = keys.length === Object.keys(old).length;
  for (const key of keys) {
    const part = share(old[key], (value as Record<string, unknown>)[key]);
    shared[key] = part;
    isSame &&= key in old && part === old[key];
  }
  return (isSame ? former : shared) as T;
}
