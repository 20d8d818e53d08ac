import type { Acl, Identity, WatchNotice } from '../protocol/acl-and-stat.js';
import { isAllowed } from './acl.js';
import { TRAITS, type Traits } from './dialects.js';
import { parentOf, visible } from './znode-tree.js';

/** A change of a node, and the access lists that say which clients may learn of it. */
export type TreeChange =
  | {
      readonly kind: 'created' | 'deleted';
      readonly path: string;
      readonly acl: Acls;
      readonly parentAcl: Acls;
    }
  | { readonly kind: 'changed'; readonly path: string; readonly acl: Acls };
type Acls = readonly Acl[];

export interface WatchingClient {
  readonly identities: readonly Identity[]; // The identities that its client has proven.
  notify(event: WatchNotice): void;
}

const NOBODY: ReadonlySet<WatchingClient> = new Set();

/** The watchers of each path. Each watch ends with its first event. */
class WatchersByPath {
  readonly #byPath = new Map<string, Set<WatchingClient>>();
  readonly #byWatcher = new Map<WatchingClient, Set<string>>();

  add(path: string, watcher: WatchingClient): void {
    addTo(this.#byPath, path, watcher);
    addTo(this.#byWatcher, watcher, path);
  }

  remove(path: string, watcher: WatchingClient): boolean {
    removeFrom(this.#byWatcher, watcher, path);
    return removeFrom(this.#byPath, path, watcher);
  }

  removeAll(watcher: WatchingClient): void {
    for (const path of [...(this.#byWatcher.get(watcher) ?? [])]) this.remove(path, watcher);
  }

  /** The watchers that get an event. Removes their watches. */
  take({ path }: WatchNotice): ReadonlySet<WatchingClient> {
    const watchers = this.#byPath.get(path);
    if (watchers === undefined) return NOBODY;
    const notified = new Set(watchers);
    for (const watcher of notified) this.remove(path, watcher);
    return notified;
  }

  get count(): number {
    let count = 0;
    for (const watchers of this.#byPath.values()) count += watchers.size;
    return count;
  }

  /** Every path that is watched, with its watchers. */
  entries(): Iterable<[string, ReadonlySet<WatchingClient>]> {
    return this.#byPath;
  }
}

function addTo<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  sets.set(key, (sets.get(key) ?? new Set()).add(value));
}

function removeFrom<K, V>(sets: Map<K, Set<V>>, key: K, value: V): boolean {
  const set = sets.get(key);
  const wasThere = set?.delete(value) === true;
  if (set?.size === 0) sets.delete(key);
  return wasThere;
}

/** The two kinds of watches, and which of them each change triggers, in ZooKeeper's order. */
export class WatchTable {
  /** Of nodes: their creation, deletion and data. */
  readonly data = new WatchersByPath();
  /** Of the lists of children. */
  readonly children = new WatchersByPath();
  readonly #traits: Traits;

  constructor(traits: Traits = TRAITS['3.8']) {
    this.#traits = traits;
  }

  /** @param zxid - of the transaction that made the change */
  trigger(change: TreeChange, zxid?: bigint): void {
    const { kind: type, path } = change;
    const event: WatchNotice = { type, path, zxid: this.#traits.zxidInEvents ? zxid : undefined };
    switch (change.kind) {
      case 'created':
        this.#notifyOfNode(event, change.acl);
        return this.#notifyOfChildren(event, change.parentAcl);
      case 'changed':
        this.#notifyOfNode(event, change.acl);
        return;
      case 'deleted': {
        const watchers = this.#notifyOfNode(event, change.acl);
        // A watcher of both the node and its children gets one event of the deletion.
        const others = [...this.children.take(event)].filter((watcher) => !watchers.has(watcher));
        notify(others, event, change.acl);
        return this.#notifyOfChildren(event, change.parentAcl);
      }
    }
  }

  #notifyOfNode(event: WatchNotice, acl: Acls): ReadonlySet<WatchingClient> {
    const watchers = this.data.take(event);
    notify(watchers, event, acl);
    return watchers;
  }

  #notifyOfChildren({ path, zxid }: WatchNotice, parentAcl: Acls): void {
    const event: WatchNotice = { type: 'children', path: visible(parentOf(path)), zxid };
    notify(this.children.take(event), event, parentAcl);
  }

  removeAll(watcher: WatchingClient): void {
    this.data.removeAll(watcher);
    this.children.removeAll(watcher);
  }

  get count(): number {
    return this.data.count + this.children.count;
  }

  countAt(path: string): number {
    let count = 0;
    for (const table of [this.data, this.children])
      for (const [watched, watchers] of table.entries()) if (watched === path) count += watchers.size;
    return count;
  }
}

/** A client that may not read a node gets no event of it either; its watch is gone all the same. */
function notify(watchers: Iterable<WatchingClient>, event: WatchNotice, acl: Acls): void {
  for (const watcher of watchers) if (isAllowed(acl, 'read', watcher.identities)) watcher.notify(event);
}
