import { type Acl, type Identity, isAllowed } from './access.js';
import type { EventType } from './op-codes.js';
import { parentOf, visible } from './paths.js';

/** Something happened at a path that is watched. */
export interface WatchEvent {
  readonly type: EventType;
  readonly path: string;
}

/** What was done to a node, and who may know. */
export type Change =
  | {
      readonly kind: 'created' | 'deleted';
      readonly path: string;
      readonly acl: Acls;
      readonly parentAcl: Acls;
    }
  | { readonly kind: 'changed'; readonly path: string; readonly acl: Acls };
type Acls = readonly Acl[];

/** Who watches: a connection. */
export interface Watcher {
  /** Who it has proven to be. */
  readonly identities: readonly Identity[];
  notify(event: WatchEvent): void;
}

/** `once` is gone with its first event; `persistent` stays; `recursive` stays, and covers all that lies below. */
export type WatchMode = 'once' | 'persistent' | 'recursive';

/**
 * Who watches which path, one watch for each pair of the two. A later watch takes the place of an earlier one, also a
 * one-shot watch that of a persistent one (ZooKeeper 3.8 does that: ZOOKEEPER-4466).
 */
class WatchTable {
  readonly #byPath = new Map<string, Map<Watcher, WatchMode>>();
  readonly #byWatcher = new Map<Watcher, Set<string>>();
  #recursive = 0;

  add(path: string, watcher: Watcher, mode: WatchMode): void {
    this.remove(path, watcher);
    const here = this.#byPath.get(path) ?? new Map<Watcher, WatchMode>();
    this.#byPath.set(path, here.set(watcher, mode));
    const watched = this.#byWatcher.get(watcher) ?? new Set<string>();
    this.#byWatcher.set(watcher, watched.add(path));
    if (mode === 'recursive') this.#recursive++;
  }

  /** Whether anybody watches it. */
  has(path: string): boolean {
    return this.#byPath.has(path);
  }

  remove(path: string, watcher: Watcher): boolean {
    const here = this.#byPath.get(path);
    const mode = here?.get(watcher);
    if (here === undefined || mode === undefined) return false;
    here.delete(watcher);
    if (here.size === 0) this.#byPath.delete(path);
    const watched = this.#byWatcher.get(watcher) as Set<string>;
    watched.delete(path);
    if (watched.size === 0) this.#byWatcher.delete(watcher);
    if (mode === 'recursive') this.#recursive--;
    return true;
  }

  removeAll(watcher: Watcher): void {
    for (const path of [...(this.#byWatcher.get(watcher) ?? [])]) this.remove(path, watcher);
  }

  /** Who is to be told of an event, with the one-shot watches taken off. */
  take({ path, type }: WatchEvent): Set<Watcher> {
    const told = new Set<Watcher>();
    for (const [watcher, mode] of [...(this.#byPath.get(path) ?? [])]) {
      // Whoever watches everything below hears of the child itself: the parent's list would be the same news twice.
      if (mode === 'recursive' && type === 'children') continue;
      told.add(watcher);
      if (mode === 'once') this.remove(path, watcher);
    }
    if (this.#recursive > 0 && type !== 'children') this.#addRecursive(path, told);
    return told;
  }

  #addRecursive(path: string, told: Set<Watcher>): void {
    for (let above = path; above !== '' && above !== '/'; ) {
      above = visible(parentOf(above));
      for (const [watcher, mode] of this.#byPath.get(above) ?? [])
        if (mode === 'recursive') told.add(watcher);
    }
  }

  /** How many watches there are, on how many paths, of how many watchers. */
  get size(): { watches: number; paths: number; watchers: number } {
    let watches = 0;
    for (const here of this.#byPath.values()) watches += here.size;
    return { watches, paths: this.#byPath.size, watchers: this.#byWatcher.size };
  }

  /** The watchers of every path that is watched. */
  entries(): Iterable<[string, ReadonlyMap<Watcher, WatchMode>]> {
    return this.#byPath;
  }
}

/** The two kinds of watches, and which of them each change sets off, in ZooKeeper's order. */
export class Watches {
  /** Of nodes: their creation, deletion and data. */
  readonly data = new WatchTable();
  /** Of lists of children. */
  readonly children = new WatchTable();

  announce(change: Change): void {
    switch (change.kind) {
      case 'created':
        this.#tellOfNode({ type: 'created', path: change.path }, change.acl);
        return this.#tellOfChildren(change.path, change.parentAcl);
      case 'changed':
        this.#tellOfNode({ type: 'changed', path: change.path }, change.acl);
        return;
      case 'deleted': {
        const event: WatchEvent = { type: 'deleted', path: change.path };
        const told = this.#tellOfNode(event, change.acl);
        // Whoever watches both the node and its children is told of its end once.
        const others = [...this.children.take(event)].filter((watcher) => !told.has(watcher));
        tell(others, event, change.acl);
        return this.#tellOfChildren(change.path, change.parentAcl);
      }
    }
  }

  #tellOfNode(event: WatchEvent, acl: Acls): Set<Watcher> {
    const watchers = this.data.take(event);
    tell(watchers, event, acl);
    return watchers;
  }

  #tellOfChildren(path: string, parentAcl: Acls): void {
    const event: WatchEvent = { type: 'children', path: visible(parentOf(path)) };
    tell(this.children.take(event), event, parentAcl);
  }

  addPersistent(path: string, watcher: Watcher, mode: 'persistent' | 'recursive'): void {
    this.data.add(path, watcher, mode);
    this.children.add(path, watcher, mode);
  }

  removeAll(watcher: Watcher): void {
    this.data.removeAll(watcher);
    this.children.removeAll(watcher);
  }

  get count(): number {
    return this.data.size.watches + this.children.size.watches;
  }

  /** How many watches there are at a path. */
  countAt(path: string): number {
    let count = 0;
    for (const table of [this.data, this.children])
      for (const [watched, watchers] of table.entries()) if (watched === path) count += watchers.size;
    return count;
  }
}

/** Whoever may not read a node doesn't learn of it from a watch either; the watch is gone all the same. */
function tell(watchers: Iterable<Watcher>, event: WatchEvent, acl: Acls): void {
  for (const watcher of watchers) if (isAllowed(acl, 'read', watcher.identities)) watcher.notify(event);
}
