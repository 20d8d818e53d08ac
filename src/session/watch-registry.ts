import { forEachOf, type SmallSet, withMember, withoutMember } from '../platform/collections/small-set.js';
import type { Change } from './protocol/requests.js';

/** Who waits for a change of a node. */
export interface Watcher {
  /** Called once, when the node is gone, or something about it may have changed: what changed has to be read. */
  changed(change: Change): void;
}

/**
 * Who waits for a change at which path. A server tells once for each path and forgets the watch, so all that wait
 * for a path share it.
 */
export class WatchRegistry {
  readonly #watchers = new Map<string, SmallSet<Watcher>>();

  /** Adds a watcher; it is gone when it has been called, or `remove` is. */
  add(path: string, watcher: Watcher): void {
    this.#watchers.set(path, withMember(this.#watchers.get(path), watcher));
  }

  /** Takes a watcher off. `true`: it was the last one, and a server may still be about to tell of the path. */
  remove(path: string, watcher: Watcher): boolean {
    if (!this.#watchers.has(path)) return false;
    const others = withoutMember(this.#watchers.get(path), watcher);
    if (others !== undefined) return false;
    return this.#watchers.delete(path);
  }

  /** Whether anybody waits for a change there. */
  has(path: string): boolean {
    return this.#watchers.has(path);
  }

  /** An event came for `path`. */
  fire(path: string, change: Change): void {
    const watchers = this.#watchers.get(path);
    this.#watchers.delete(path);
    forEachOf(watchers, (watcher) => watcher.changed(change));
  }

  clear(): void {
    this.#watchers.clear();
  }

  /** Every path that is watched, in portions whose bytes stay under `limit` each, so that each fits a request. */
  portions(limit: number): string[][] {
    const portions: string[][] = [];
    let bytes = Number.POSITIVE_INFINITY;
    for (const path of this.#watchers.keys()) {
      const size = 4 + Buffer.byteLength(path);
      if (bytes + size > limit) {
        portions.push([]);
        bytes = 0;
      }
      portions.at(-1)?.push(path);
      bytes += size;
    }
    return portions;
  }
}
