import type { Acl, Identity, WatchEvent } from '../protocol/records.js';
import { isAllowed } from './acl.js';
import { parentOf, visible } from './znode-tree.js';
import { TRAITS, type Traits } from './zookeeper-release.js';

/** A change of a node, and the access lists that say which clients may learn of it. */
export type Change =
  | {
      readonly kind: 'created' | 'deleted';
      readonly path: string;
      readonly acl: Acls;
      readonly parentAcl: Acls;
    }
  | { readonly kind: 'changed'; readonly path: string; readonly acl: Acls };
type Acls = readonly Acl[];

export interface Watcher {
  readonly identities: readonly Identity[]; // The identities that its client has proven.
  notify(event: WatchEvent): void;
}

/** `once` ends with its first event; `persistent` stays; `recursive` stays, and covers all nodes below. */
export type WatchMode = 'once' | 'persistent' | 'recursive';

type Modes = readonly WatchMode[];
const NONE: Modes = [];

/**
 * The watchers of each path. A later watch of the same watcher at the same path replaces an earlier one, also a one-shot
 * watch a persistent one; or, depending on the dialect, watches of different modes exist beside each other.
 */
class WatchTable {
  readonly #byPath = new Map<string, Map<Watcher, Modes>>();
  readonly #byWatcher = new Map<Watcher, Set<string>>();
  readonly #separateModes: boolean;
  #recursive = 0;

  constructor({ separateWatchModes }: Traits) {
    this.#separateModes = separateWatchModes;
  }

  add(path: string, watcher: Watcher, mode: WatchMode): void {
    const others = this.#separateModes ? this.#modesOf(path, watcher).filter((each) => each !== mode) : [];
    this.#set(path, watcher, [...others, mode]);
  }

  has(path: string): boolean {
    return this.#byPath.has(path);
  }

  /** Whether this watcher watches the path, in this mode if one is given. */
  hasOf(path: string, watcher: Watcher, mode?: WatchMode): boolean {
    const modes = this.#modesOf(path, watcher);
    return mode === undefined ? modes.length > 0 : modes.includes(mode);
  }

  /** @param mode - which watch to remove; by default all */
  remove(path: string, watcher: Watcher, mode?: WatchMode): boolean {
    if (!this.hasOf(path, watcher, mode)) return false;
    const kept = this.#modesOf(path, watcher).filter((each) => mode !== undefined && each !== mode);
    this.#set(path, watcher, kept);
    return true;
  }

  #modesOf(path: string, watcher: Watcher): Modes {
    return this.#byPath.get(path)?.get(watcher) ?? NONE;
  }

  #set(path: string, watcher: Watcher, modes: Modes): void {
    const recursive = (these: Modes) => Number(these.includes('recursive'));
    this.#recursive += recursive(modes) - recursive(this.#modesOf(path, watcher));
    const here = this.#byPath.get(path) ?? new Map<Watcher, Modes>();
    const watched = this.#byWatcher.get(watcher) ?? new Set<string>();
    if (modes.length > 0) {
      this.#byPath.set(path, here.set(watcher, modes));
      this.#byWatcher.set(watcher, watched.add(path));
      return;
    }
    here.delete(watcher);
    if (here.size === 0) this.#byPath.delete(path);
    watched.delete(path);
    if (watched.size === 0) this.#byWatcher.delete(watcher);
  }

  removeAll(watcher: Watcher): void {
    for (const path of [...(this.#byWatcher.get(watcher) ?? [])]) this.remove(path, watcher);
  }

  /** The watchers that get an event. Removes their one-shot watches. */
  take({ path, type }: WatchEvent): Set<Watcher> {
    const notified = new Set<Watcher>();
    for (const [watcher, modes] of [...(this.#byPath.get(path) ?? [])]) {
      // A recursive watch gets the event of the child itself: the event of the parent's list would repeat it.
      if (type === 'children' && modes.every((mode) => mode === 'recursive')) continue;
      notified.add(watcher);
      this.remove(path, watcher, 'once');
    }
    if (this.#recursive > 0 && type !== 'children') this.#addRecursive(path, notified);
    return notified;
  }

  #addRecursive(path: string, notified: Set<Watcher>): void {
    for (let above = path; above !== '' && above !== '/'; ) {
      above = visible(parentOf(above));
      for (const [watcher, modes] of this.#byPath.get(above) ?? [])
        if (modes.includes('recursive')) notified.add(watcher);
    }
  }

  /** How many watches there are, on how many paths, of how many watchers. */
  get size(): { watches: number; paths: number; watchers: number } {
    let watches = 0;
    for (const here of this.#byPath.values()) watches += here.size;
    return { watches, paths: this.#byPath.size, watchers: this.#byWatcher.size };
  }

  /** Every path that is watched, with its watchers. */
  entries(): Iterable<[string, ReadonlyMap<Watcher, Modes>]> {
    return this.#byPath;
  }
}

/** The two kinds of watches, and which of them each change triggers, in ZooKeeper's order. */
export class Watches {
  /** Of nodes: their creation, deletion and data. */
  readonly data: WatchTable;
  /** Of the lists of children. */
  readonly children: WatchTable;
  readonly #traits: Traits;

  constructor(traits: Traits = TRAITS['3.8']) {
    this.#traits = traits;
    this.data = new WatchTable(traits);
    this.children = new WatchTable(traits);
  }

  /** @param zxid - of the transaction that made the change */
  trigger(change: Change, zxid?: bigint): void {
    const { kind: type, path } = change;
    const event: WatchEvent = { type, path, zxid: this.#traits.zxidInEvents ? zxid : undefined };
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

  #notifyOfNode(event: WatchEvent, acl: Acls): Set<Watcher> {
    const watchers = this.data.take(event);
    notify(watchers, event, acl);
    return watchers;
  }

  #notifyOfChildren({ path, zxid }: WatchEvent, parentAcl: Acls): void {
    const event: WatchEvent = { type: 'children', path: visible(parentOf(path)), zxid };
    notify(this.children.take(event), event, parentAcl);
  }

  addPersistent(path: string, watcher: Watcher, mode: 'persistent' | 'recursive'): void {
    this.data.add(path, watcher, mode);
    // A recursive watch gets no events of lists of children: only 3.8 keeps it in both tables.
    if (mode === 'persistent' || !this.#traits.separateWatchModes) this.children.add(path, watcher, mode);
  }

  removeAll(watcher: Watcher): void {
    this.data.removeAll(watcher);
    this.children.removeAll(watcher);
  }

  get count(): number {
    return this.data.size.watches + this.children.size.watches;
  }

  countAt(path: string): number {
    let count = 0;
    for (const table of [this.data, this.children])
      for (const [watched, watchers] of table.entries()) if (watched === path) count += watchers.size;
    return count;
  }
}

/** A client that may not read a node gets no event of it either; its watch is gone all the same. */
function notify(watchers: Iterable<Watcher>, event: WatchEvent, acl: Acls): void {
  for (const watcher of watchers) if (isAllowed(acl, 'read', watcher.identities)) watcher.notify(event);
}
