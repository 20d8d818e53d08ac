import { isDeepStrictEqual } from 'node:util';
import { byPath } from '../../platform/zookeeper-paths.js';
import { type ElectionFacts, ElectionModel } from './election-model.js';
import { type GroupFacts, GroupModel } from './group-model.js';
import { type LockKind, lockViewOf, type ReadContender } from './lock-view.js';
import type { NodeKind } from './node-kind.js';
import type {
  ElectionView,
  GroupChange,
  GroupView,
  LeaderView,
  LockView,
  OverviewChange,
  OverviewState,
  ServerView,
  TransitionView,
} from './view-types.js';

const MOST_TRANSITIONS = 200;

/** The parts of the state that are told as a whole. */
type Whole = Required<Pick<OverviewState, 'connected' | 'disconnectedSince' | 'servers' | 'limits'>>;

/** What has changed since the last batch. */
class Batch {
  readonly whole: Partial<Whole> = {};
  readonly elections = new Set<string>();
  readonly locks = new Set<string>();
  /** Groups that have changed and weren't compared yet: a thousand shards may move in one batch. */
  readonly groupFacts = new Map<string, GroupFacts>();
  readonly groups = new Map<string, GroupView | GroupChange>();
  readonly removed = new Set<string>();
  /** The oldest first. */
  readonly transitions: TransitionView[] = [];
  /** The paths of elections whose leader's newest heartbeat was read. */
  readonly heartbeats = new Set<string>();
}

/**
 * Everything that is known of the nodes below a root, over all sessions that read them. The model keeps the state that the last session has
 * read until the next session has read it, too. The difference is then a change like any other. It reads nothing itself.
 */
export class OverviewModel {
  readonly #now: () => number;
  readonly #onDirty: () => void;
  readonly #elections = new Map<string, ElectionModel>();
  readonly #locks = new Map<string, LockView>();
  readonly #groups = new Map<string, GroupModel>();
  /** As they were in the previous batch. */
  readonly #sent = new Map<string, ElectionView | LockView>();
  #whole: Whole;
  #transitions: readonly TransitionView[] = [];
  #batch = new Batch();
  /** Those that a former session has read, and the present one hasn't yet. */
  #unread = new Set<string>();
  #hasReadAll = false;

  /**
   * @param now - the time of day
   * @param onDirty - called when there is a change for the next batch
   */
  constructor(now: () => number, onDirty: () => void) {
    this.#now = now;
    this.#onDirty = onDirty;
    this.#whole = { connected: false, disconnectedSince: now(), servers: [], limits: [] };
  }

  /** As the batches so far have told it: a transition or a move that it had already would come again with the next batch. */
  get state(): OverviewState {
    const { limits, ...whole } = this.#whole;
    return {
      ...whole,
      elections: [...this.#elections.values()].map(({ view }) => view).sort(byPath),
      locks: [...this.#locks.values()].sort(byPath),
      groups: [...this.#groups.values()].map(({ view }) => view).sort(byPath),
      transitions: this.#transitions,
      ...(limits.length > 0 && { limits }),
    };
  }

  election(path: string, facts: ElectionFacts): void {
    this.#found(path, this.#elections);
    const known = this.#elections.get(path);
    const model = known ?? new ElectionModel(path);
    this.#elections.set(path, model);
    const events = model.read(facts, this.#now());
    if (known !== undefined || this.#hasReadAll) this.#happened(events);
    this.#batch.elections.add(path);
    this.#onDirty();
  }

  lock(path: string, kind: LockKind, queue: readonly ReadContender[]): void {
    this.#found(path, this.#locks);
    this.#locks.set(path, lockViewOf(path, kind, queue));
    this.#batch.locks.add(path);
    this.#onDirty();
  }

  group(path: string, facts: GroupFacts): void {
    this.#found(path, this.#groups);
    const isNew = !this.#groups.has(path);
    if (isNew) this.#groups.set(path, new GroupModel(path));
    this.#batch.groupFacts.set(path, facts);
    if (isNew) this.#readGroups(); // The state has nothing of it yet. It has no moves.
    this.#onDirty();
  }

  /** The kind that the node had before, as this session or a former one has read it. */
  formerKindOf(path: string): NodeKind | undefined {
    if (this.#elections.has(path)) return { name: 'election' };
    const lock = this.#locks.get(path);
    if (lock !== undefined) return { name: lock.kind, capacity: lock.capacity };
    return this.#groups.has(path) ? { name: 'group' } : undefined;
  }

  /** A server refuses to show the node. */
  refused(path: string): void {
    this.#unread.delete(path);
    this.#elections.get(path)?.refused();
    this.#groups.get(path)?.refused();
    if (this.#elections.has(path)) this.#batch.elections.add(path);
    const group = this.#groups.get(path);
    if (group !== undefined) this.#batch.groups.set(path, group.view);
    this.#onDirty();
  }

  /** The node is gone, or has another kind than before. This says nothing about the nodes below it, which may still be there. */
  removed(path: string): void {
    this.#unread.delete(path);
    const existed = [this.#elections, this.#locks, this.#groups].map((kind) => kind.delete(path));
    if (!existed.includes(true)) return;
    const { elections, locks, groups, groupFacts, heartbeats } = this.#batch;
    for (const each of [elections, locks, groups, groupFacts, heartbeats, this.#sent]) each.delete(path);
    this.#batch.removed.add(path);
    this.#happened([{ at: this.#now(), path, kind: 'removed', id: null }]);
    this.#onDirty();
  }

  /** The sentences that say which places aren't read have changed. */
  limited(limits: readonly string[]): void {
    this.#tell({ limits });
  }

  /** A session begins to read. */
  begin(): void {
    this.#unread = new Set([...this.#elections.keys(), ...this.#locks.keys(), ...this.#groups.keys()]);
    if (this.#whole.limits.length > 0) this.limited([]);
  }

  /** The session has read everything below the root. */
  readAll(): void {
    for (const path of this.#unread) this.removed(path);
    const isFirst = !this.#hasReadAll;
    this.#hasReadAll = true;
    if (isFirst) this.takeBatch(); // The state has these changes already.
    this.#onDirty();
  }

  /** Called when a server begins to serve the session, or no server serves it any more. */
  connected(connected: boolean): void {
    if (this.#whole.connected === connected) return;
    this.#tell({ connected, disconnectedSince: connected ? null : this.#now() });
  }

  /** The servers' roles were asked for. */
  polled(servers: readonly ServerView[]): void {
    const former = this.#whole.servers;
    if (isDeepStrictEqual(servers, former)) return;
    const roles = new Map(former.map(({ address, role }) => [address, role]));
    const changed = servers.filter(({ address, role }) => roles.has(address) && roles.get(address) !== role);
    const at = this.#now();
    this.#happened(
      changed.map(({ address, role }) => ({ at, path: '/', kind: 'server', id: address, reason: role })),
    );
    this.#tell({ servers });
  }

  /** @param at - when the leader's newest heartbeat was committed */
  beat(path: string, { node }: LeaderView, at: number): void {
    if (this.#elections.get(path)?.beat(node, at) !== true) return;
    this.#batch.heartbeats.add(path);
    this.#onDirty();
  }

  /** The leaders whose heartbeats can be seen. */
  leaders(): { path: string; leader: LeaderView }[] {
    return [...this.#elections.values()].flatMap(({ path, view: { leader } }) =>
      leader === null ? [] : { path, leader },
    );
  }

  /** The changes since the last call; `undefined` if there are none. Before everything was read once, it reports no changes. */
  takeBatch(): OverviewChange | undefined {
    this.#readGroups();
    const batch = this.#batch;
    this.#batch = new Batch();
    const elections = this.#changed(
      [...batch.elections].flatMap((path) => this.#elections.get(path)?.view ?? []),
    );
    const locks = this.#changed([...batch.locks].flatMap((path) => this.#locks.get(path) ?? []));
    const transitions = batch.transitions.reverse();
    this.#transitions = [...transitions, ...this.#transitions].slice(0, MOST_TRANSITIONS);
    const lists = {
      elections,
      locks,
      groups: [...batch.groups.values()],
      removed: [...batch.removed],
      transitions,
      heartbeats: [...batch.heartbeats].flatMap((path) => {
        const at = this.#elections.get(path)?.view.leader?.heartbeatAt; // Not that of a leader before it.
        return typeof at === 'number' ? { path, at } : [];
      }),
    };
    const filled = Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
    const change = { ...batch.whole, ...filled };
    return this.#hasReadAll && Object.keys(change).length > 0 ? change : undefined;
  }

  #tell(whole: Partial<Whole>): void {
    this.#whole = { ...this.#whole, ...whole };
    Object.assign(this.#batch.whole, whole);
    this.#onDirty();
  }

  #readGroups(): void {
    const { groupFacts, groups } = this.#batch;
    for (const [path, facts] of groupFacts) {
      const model = this.#groups.get(path) as GroupModel;
      const { change, transitions } = model.read(facts, this.#now());
      // With two changes in one batch, the first would be lost.
      if (change !== undefined) groups.set(path, groups.has(path) ? model.view : change);
      this.#happened(transitions);
    }
    groupFacts.clear();
  }

  /** Compares without heartbeats, which are reported separately. */
  #changed<V extends ElectionView | LockView>(views: readonly V[]): V[] {
    return views.filter((view) => {
      const isSame = isDeepStrictEqual(this.#sent.get(view.path), view);
      this.#sent.set(view.path, view);
      return !isSame;
    });
  }

  /** The node is of this kind. Before, it may have been of another kind. */
  #found(path: string, kind: ReadonlyMap<string, unknown>): void {
    this.#unread.delete(path);
    this.#batch.removed.delete(path);
    if (kind.has(path)) return;
    this.removed(path);
    this.#batch.removed.delete(path);
    if (this.#hasReadAll) this.#happened([{ at: this.#now(), path, kind: 'created', id: null }]);
  }

  #happened(transitions: readonly TransitionView[]): void {
    this.#batch.transitions.push(...transitions);
  }
}
