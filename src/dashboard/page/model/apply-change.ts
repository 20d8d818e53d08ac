import { byPath } from '../../../platform/zookeeper-paths.js';
import type { DashboardChange, DashboardState, GroupChange, GroupView, LeaderView } from '../../api-types.js';
import { type ColorSlots, colorSlotsOf } from './member-colors.js';

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
  readonly slots: ColorSlots;
}

/** @param former - the model until now. Parts of it that are equal in `state` stay the same objects. */
export function modelOf(state: DashboardState, former?: Model): Model {
  const sorted: DashboardState = {
    ...state,
    elections: [...state.elections].sort(byPath),
    locks: [...state.locks].sort(byPath),
    groups: [...state.groups].sort(byPath),
  };
  const slots = colorSlotsOf(sorted.groups, former?.slots);
  return { state: share(former?.state, sorted), heartbeats: new Map(), slots };
}

export function applyChange({ state, heartbeats, slots }: Model, change: DashboardChange): Model {
  const removed = new Set(change.removed);
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
    limits: change.limits ?? state.limits,
    transitions: prepended(change.transitions, state.transitions, MOST_TRANSITIONS),
  };
  return {
    state: next,
    heartbeats: mergedHeartbeats(heartbeats, change, removed),
    slots: next.groups === state.groups ? slots : colorSlotsOf(next.groups, slots),
  };
}

/** When the leader's newest heartbeat was committed, by the dashboard's clock. */
export function heartbeatOf({ heartbeats }: Model, path: string, leader: LeaderView): number | null {
  return heartbeats.get(path) ?? leader.heartbeatAt;
}

function mergedHeartbeats(
  former: ReadonlyMap<string, number>,
  { heartbeats = [], elections = [] }: DashboardChange,
  removed: ReadonlySet<string>,
): ReadonlyMap<string, number> {
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
  const views = new Map(known.map((view) => [view.path, view]));
  // A change may remove an election and bring a lock with the same path. The view in the change counts.
  for (const path of removed) views.delete(path);
  for (const view of changed) views.set(view.path, share(views.get(view.path), view));
  return [...views.values()].sort(byPath);
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
