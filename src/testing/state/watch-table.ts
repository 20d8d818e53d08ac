import { TRAITS, type Traits } from '../dialect.js';
import type { EventType } from '../protocol/op-codes.js';
import { type Acl, type Identity, isAllowed } from './acl.js';
import { parentOf, visible } from './paths.js';

/** Something happened at a path that is watched. */
export interface WatchEvent {
  readonly type: EventType;
  readonly path: string;
  /** Of the transaction that caused it, if that is told. */
  readonly zxid?: bigint | undefined;
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

type Modes = readonly WatchMode[];
const NONE: Modes = [];

/**
 * Who watches which path. Of one watcher and one path a later watch takes the place of an earlier one, also a one-shot
 * watch that of a persistent one; or, by its dialect, watches of different modes stand beside each other.
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

  /** Whether anybody watches it. */
  has(path: string): boolean {
    return this.#byPath.has(path);
  }

  /** Whether this one watches it, in this mode if one is given. */
  hasOf(path: string, watcher: Watcher, mode?: WatchMode): boolean {
    const modes = this.#modesOf(path, watcher);
    return mode === undefined ? modes.length > 0 : modes.includes(mode);
  }

  /** @param mode - the only one to be removed; by default all are */
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

  /** Who is to be told of an event, with the one-shot watches taken off. */
  take({ path, type }: WatchEvent): Set<Watcher> {
    const told = new Set<Watcher>();
    for (const [watcher, modes] of [...(this.#byPath.get(path) ?? [])]) {
      // Whoever watches everything below hears of the child itself: the parent's list would be the same news twice.
      if (type === 'children' && modes.every((mode) => mode === 'recursive')) continue;
      told.add(watcher);
      this.remove(path, watcher, 'once');
    }
    if (this.#recursive > 0 && type !== 'children') this.#addRecursive(path, told);
    return told;
  }

  #addRecursive(path: string, told: Set<Watcher>): void {
    for (let above = path; above !== '' && above !== '/'; ) {
      above = visible(parentOf(above));
      for (const [watcher, modes] of this.#byPath.get(above) ?? [])
        if (modes.includes('recursive')) told.add(watcher);
    }
  }

  /** How many watches there are, on how many paths, of how many watchers. */
  get size(): { watches: number; paths: number; watchers: number } {
    let watches = 0;
    for (const here of this.#byPath.values()) watches += here.size;
    return { watches, paths: this.#byPath.size, watchers: this.#byWatcher.size };
  }

  /** The watchers of every path that is watched. */
  entries(): Iterable<[string, ReadonlyMap<Watcher, Modes>]> {
    return this.#byPath;
  }
}

/** The two kinds of watches, and which of them each change sets off, in ZooKeeper's order. */
export class Watches {
  /** Of nodes: their creation, deletion and data. */
  readonly data: WatchTable;
  /** Of lists of children. */
  readonly children: WatchTable;
  readonly #traits: Traits;

  constructor(traits: Traits = TRAITS['3.8']) {
    this.#traits = traits;
    this.data = new WatchTable(traits);
    this.children = new WatchTable(traits);
  }

  /** @param zxid - of the transaction that made the change */
  announce(change: Change, zxid?: bigint): void {
    const { kind: type, path } = change;
    const event: WatchEvent = { type, path, zxid: this.#traits.zxidInEvents ? zxid : undefined };
    switch (change.kind) {
      case 'created':
        this.#tellOfNode(event, change.acl);
        return this.#tellOfChildren(event, change.parentAcl);
      case 'changed':
        this.#tellOfNode(event, change.acl);
        return;
      case 'deleted': {
        const watchers = this.#tellOfNode(event, change.acl);
        // Whoever watches both the node and its children is told of its end once.
        const others = [...this.children.take(event)].filter((watcher) => !watchers.has(watcher));
        tell(others, event, change.acl);
        return this.#tellOfChildren(event, change.parentAcl);
      }
    }
  }

  #tellOfNode(event: WatchEvent, acl: Acls): Set<Watcher> {
    const watchers = this.data.take(event);
    tell(watchers, event, acl);
    return watchers;
  }

  #tellOfChildren({ path, zxid }: WatchEvent, parentAcl: Acls): void {
    const event: WatchEvent = { type: 'children', path: visible(parentOf(path)), zxid };
    tell(this.children.take(event), event, parentAcl);
  }

  addPersistent(path: string, watcher: Watcher, mode: 'persistent' | 'recursive'): void {
    this.data.add(path, watcher, mode);
    // A recursive one is told of no list of children: only 3.8 keeps it in both tables.
    if (mode === 'persistent' || !this.#traits.separateWatchModes) this.children.add(path, watcher, mode);
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
