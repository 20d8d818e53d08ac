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

/** Is notified of everything that one session reads below a root. */
export interface TreeListener {
  /** The kind that the node had before, as this session or a former one has read it. */
  formerKindOf(path: string): NodeKind | undefined;
  election(path: string, facts: ElectionFacts): void;
  lock(path: string, kind: LockKind, queue: readonly ReadContender[]): void;
  group(path: string, facts: GroupFacts): void;
  /** A server refuses to show the node. */
  refused(path: string): void;
  /** The node is gone, or has another kind than before. This says nothing about the nodes below it, which may still be there. */
  removed(path: string): void;
  /** The sentences that say which places aren't read have changed. */
  limited(sentences: readonly string[]): void;
  /** Everything below the root was read. Called once. */
  readAll(): void;
  /** Something went wrong that says nothing about the nodes. */
  failed(error: unknown): void;
}

const MOST_TRANSITIONS = 200;

/** What has changed since the last batch. */
interface Batch {
  connection?: { readonly connected: boolean; readonly disconnectedSince: number | null };
  servers?: readonly ServerView[];
  limits?: readonly string[];
  readonly elections: Set<string>;
  readonly locks: Set<string>;
  /** Groups that have changed and weren't compared yet: a thousand shards may move in one batch. */
  readonly groupFacts: Map<string, GroupFacts>;
  readonly groups: Map<string, GroupView | GroupChange>;
  readonly removed: Set<string>;
  /** The oldest first. */
  readonly transitions: TransitionView[];
  /** By the paths of elections. */
  readonly heartbeats: Map<string, number>;
}

function emptyBatch(): Batch {
  return {
    elections: new Set(),
    locks: new Set(),
    groupFacts: new Map(),
    groups: new Map(),
    removed: new Set(),
    transitions: [],
    heartbeats: new Map(),
  };
}

/**
 * Everything that is known of the nodes below a root, over all sessions that read them. The model keeps the state that the last session has
 * read until the next session has read it, too. The difference is then a change like any other. It reads nothing itself.
 */
export class OverviewModel implements TreeListener {
  readonly #now: () => number;
  readonly #onDirty: () => void;
  readonly #onReadAll: () => void;
  readonly #onFailed: (error: unknown) => void;
  readonly #elections = new Map<string, ElectionModel>();
  readonly #locks = new Map<string, LockView>();
  readonly #groups = new Map<string, GroupModel>();
  /** As they were in the previous batch. */
  readonly #sent = new Map<string, ElectionView | LockView>();
  #servers: readonly ServerView[] = [];
  #limits: readonly string[] = [];
  #transitions: readonly TransitionView[] = [];
  #connection: { readonly connected: boolean; readonly disconnectedSince: number | null };
  #batch = emptyBatch();
  /** Those that a former session has read, and the present one hasn't yet. */
  #unread = new Set<string>();
  #hasReadAll = false;

  /**
   * @param how.now - the time of day
   * @param how.onDirty - called when there is a change for the next batch
   * @param how.onReadAll - called when a session has read everything below the root
   * @param how.onFailed - called when reading has failed, and has to begin anew
   */
  constructor(how: {
    now: () => number;
    onDirty: () => void;
    onReadAll: () => void;
    onFailed: (error: unknown) => void;
  }) {
    this.#now = how.now;
    this.#onDirty = how.onDirty;
    this.#onReadAll = how.onReadAll;
    this.#onFailed = how.onFailed;
    this.#connection = { connected: false, disconnectedSince: how.now() };
  }

  get state(): OverviewState {
    this.#readGroups();
    return {
      ...this.#connection,
      elections: [...this.#elections.values()].map(({ view }) => view).sort(byPath),
      locks: [...this.#locks.values()].sort(byPath),
      groups: [...this.#groups.values()].map(({ view }) => view).sort(byPath),
      servers: this.#servers,
      transitions: this.#transitions,
      ...(this.#limits.length > 0 && { limits: this.#limits }),
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
    if (!this.#groups.has(path)) this.#groups.set(path, new GroupModel(path));
    this.#batch.groupFacts.set(path, facts);
    this.#onDirty();
  }

  formerKindOf(path: string): NodeKind | undefined {
    if (this.#elections.has(path)) return { name: 'election' };
    const lock = this.#locks.get(path);
    if (lock !== undefined) return { name: lock.kind, capacity: lock.capacity };
    return this.#groups.has(path) ? { name: 'group' } : undefined;
  }

  refused(path: string): void {
    this.#unread.delete(path);
    this.#elections.get(path)?.refused();
    this.#groups.get(path)?.refused();
    if (this.#elections.has(path)) this.#batch.elections.add(path);
    const group = this.#groups.get(path);
    if (group !== undefined) this.#batch.groups.set(path, group.view);
    this.#onDirty();
  }

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

  limited(sentences: readonly string[]): void {
    this.#limits = sentences;
    this.#batch.limits = sentences;
    this.#onDirty();
  }

  /** A session begins to read. */
  begin(): void {
    this.#unread = new Set([...this.#elections.keys(), ...this.#locks.keys(), ...this.#groups.keys()]);
    if (this.#limits.length > 0) this.limited([]);
  }

  readAll(): void {
    for (const path of this.#unread) this.removed(path);
    const isFirst = !this.#hasReadAll;
    this.#hasReadAll = true;
    if (isFirst) this.takeBatch(); // The state has these changes already.
    this.#onDirty();
    this.#onReadAll();
  }

  failed(error: unknown): void {
    this.#onFailed(error);
  }

  /** Called when a server begins to serve the session, or no server serves it any more. */
  connected(connected: boolean): void {
    if (this.#connection.connected === connected) return;
    this.#connection = { connected, disconnectedSince: connected ? null : this.#now() };
    this.#batch.connection = this.#connection;
    this.#onDirty();
  }

  /** The servers' roles were asked for. */
  polled(servers: readonly ServerView[]): void {
    if (isDeepStrictEqual(servers, this.#servers)) return;
    const roles = new Map(this.#servers.map(({ address, role }) => [address, role]));
    const changed = servers.filter(({ address, role }) => roles.has(address) && roles.get(address) !== role);
    const at = this.#now();
    this.#happened(
      changed.map(({ address, role }) => ({ at, path: '/', kind: 'server', id: address, reason: role })),
    );
    this.#servers = servers;
    this.#batch.servers = servers;
    this.#onDirty();
  }

  /** @param at - when the leader's newest heartbeat was committed */
  beat(path: string, { node }: LeaderView, at: number): void {
    if (this.#elections.get(path)?.beat(node, at) !== true) return;
    this.#batch.heartbeats.set(path, at);
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
    this.#batch = emptyBatch();
    const elections = this.#changed(
      [...batch.elections].flatMap((path) => this.#elections.get(path)?.view ?? []),
    );
    const locks = this.#changed([...batch.locks].flatMap((path) => this.#locks.get(path) ?? []));
    const lists = {
      elections,
      locks,
      groups: [...batch.groups.values()],
      removed: [...batch.removed],
      transitions: batch.transitions.reverse(),
      heartbeats: [...batch.heartbeats].map(([path, at]) => ({ path, at })),
    };
    const filled = Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
    const { connection, servers, limits } = batch;
    const change = { ...connection, ...(servers && { servers }), ...(limits && { limits }), ...filled };
    return this.#hasReadAll && Object.keys(change).length > 0 ? change : undefined;
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
    if (transitions.length === 0) return;
    this.#batch.transitions.push(...transitions);
    this.#transitions = [...transitions.toReversed(), ...this.#transitions].slice(0, MOST_TRANSITIONS);
  }
}
