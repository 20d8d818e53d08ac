import {
  forEachOf,
  hasMember,
  type SmallSet,
  withMember,
  withoutMember,
} from '../platform/collections/small-set.js';
import type { Change, WatchKind, WatchPortion } from './protocol/requests.js';

/** Waits for a change of a node. */
export interface Watcher {
  /** Called once, when the node is gone or may have changed: the watcher reads it to see what has changed. */
  changed(change: Change): void;
}

/** The watchers of each path, which share one watch: a server reports one change for each path, and then removes its watch. */
export class WatchRegistry {
  readonly #watchers = new Map<string, SmallSet<Watcher>>();

  /** Adds a watcher, until it has been called or removed. */
  add(path: string, watcher: Watcher): void {
    this.#watchers.set(path, withMember(this.#watchers.get(path), watcher));
  }

  /** `true`: it was the path's last watcher, and a server may still watch the path. */
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

  /** All watched paths, in portions of under `limit` bytes each, so that each fits a request. */
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
 * What is called when nodes are created that didn't exist, by their absolute paths. Those of one path share one watch. They aren't
 * restored when a connection was lost.
 */
export class CreationWatches {
  #called: Map<string, SmallSet<() => void>> | undefined; // Few sessions have any, and an empty map takes 190 bytes.

  /** @param onCreated - a function of this watch alone */
  add(path: string, onCreated: () => void): void {
    this.#called ??= new Map();
    this.#called.set(path, withMember(this.#called.get(path), onCreated));
  }

  has(path: string): boolean {
    return this.#called?.has(path) === true;
  }

  /** `true`: it was the path's last one, and a server may still watch the path. */
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
