import {
  forEachOf,
  hasMember,
  type SmallSet,
  withMember,
  withoutMember,
} from '../platform/collections/lists-and-sets.js';
import type { Change, WatchKind, WatchPortion } from './protocol/requests.js';

/** An object that waits for a change of a node. */
export interface Watcher {
  /** Called once, when the node is gone or may have changed. The watcher reads the node to see the change. */
  changed(change: Change): void;
}

/** The watchers of each path, which share one watch. A server reports one change for each path, and then removes its watch. */
export class WatchRegistry {
  readonly #watchers = new Map<string, SmallSet<Watcher>>();

  /** Adds a watcher. It stays until it was called or removed. */
  add(path: string, watcher: Watcher): void {
    this.#watchers.set(path, withMember(this.#watchers.get(path), watcher));
  }

  /** `true` if it was the path's last watcher, and a server may still watch the path. */
  remove(path: string, watcher: Watcher): boolean {
    if (!this.#watchers.has(path)) return false;
    const others = withoutMember(this.#watchers.get(path), watcher);
    if (others !== undefined) return false;
    return this.#watchers.delete(path);
  }

  has(path: string): boolean {
    return this.#watchers.has(path);
  }

  fire(path: string, change: Change): void {
    const watchers = this.#watchers.get(path);
    this.#watchers.delete(path);
    forEachOf(watchers, (watcher) => watcher.changed(change));
  }

  clear(): void {
    this.#watchers.clear();
  }

  /** All watched paths, in portions of under `limit` bytes each, so that each portion fits in a request. */
  portions(limit: number, kind: WatchKind): WatchPortion[] {
    const portions: WatchPortion[] = [];
    let bytes = Number.POSITIVE_INFINITY;
    for (const path of this.#watchers.keys()) {
      const size = 4 + Buffer.byteLength(path);
      if (bytes + size > limit) {
        portions.push({ kind, paths: [] });
        bytes = 0;
      }
      portions.at(-1)?.paths.push(path);
      bytes += size;
    }
    return portions;
  }
}

/**
 * The functions to call when missing nodes are created, by the absolute paths of the nodes. The functions of one path share one
 * watch. After a lost connection these watches aren't restored.
 */
export class CreationWatches {
  #called: Map<string, SmallSet<() => void>> | undefined; // Created on use: few sessions need it, and an empty map takes 190 bytes.

  /** @param onCreated - a function of this watch alone */
  add(path: string, onCreated: () => void): void {
    this.#called ??= new Map();
    this.#called.set(path, withMember(this.#called.get(path), onCreated));
  }

  has(path: string): boolean {
    return this.#called?.has(path) === true;
  }

  /** `true` if it was the path's last function, and a server may still watch the path. */
  remove(path: string, onCreated: () => void): boolean {
    const called = this.#called?.get(path);
    if (this.#called === undefined || !hasMember(called, onCreated)) return false;
    const others = withoutMember(called, onCreated);
    if (others === undefined) return this.#called.delete(path);
    this.#called.set(path, others);
    return false;
  }

  fire(path: string): void {
    const called = this.#called?.get(path);
    this.#called?.delete(path);
    forEachOf(called, (onCreated) => onCreated());
  }
}
