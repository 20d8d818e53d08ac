import { BatchPerTurn } from '../../platform/async/batch-per-turn.js';
import { microtask } from '../../platform/async/promises.js';
import { NodeWatch } from '../../session/node-watch.js';
import type { Session } from '../../session/session.js';
import type { GroupPaths } from '../stored/group-paths.js';
import type { SeenShard } from './shard-records.js';

/** A shard that is waited for. */
interface Blocked {
  readonly watch: NodeWatch;
  /** The node of the member that owns it; `undefined`: its record says nothing of that. */
  readonly owner: string | undefined;
}

/**
 * Waits until shards that others own can be claimed: their records change, or their owners have tombstones. Read only
 * those shards again whose record or owner has changed.
 */
export class BlockedShards {
  readonly #session: Session;
  readonly #paths: GroupPaths;
  readonly #shards = new Map<string, Blocked>();
  /** By owner, the end of the watch for its tombstone. */
  readonly #owners = new Map<string, () => void>();
  /** A release frees many shards, one after the other. */
  readonly #freed: BatchPerTurn<string>;
  readonly #onRefused: () => void;

  /**
   * @param on.free - some that were waited for may be free, and are no longer waited for
   * @param on.refused - a record couldn't be read, and is no longer waited for. Nothing says when it can be read again, so the caller
   *   reads it later
   */
  constructor(
    session: Session,
    paths: GroupPaths,
    on: { readonly free: () => void; readonly refused: () => void },
  ) {
    this.#session = session;
    this.#paths = paths;
    this.#freed = new BatchPerTurn(on.free);
    this.#onRefused = on.refused;
  }

  /** The ids of those that are waited for. */
  get shards(): ReadonlySet<string> {
    return new Set(this.#shards.keys());
  }

  /** Waits for these as well. */
  wait(blocked: readonly SeenShard[]): void {
    for (const each of blocked) if (!this.#shards.has(each.shard)) this.#watchRecord(each);
    for (const { owner } of this.#shards.values())
      if (owner !== undefined && !this.#owners.has(owner)) this.#watchOwner(owner);
  }

  /** Waits for no others than these any more. @returns the ids of those that it waits for */
  keep(shards: ReadonlySet<string>): ReadonlySet<string> {
    for (const shard of this.#shards.keys()) if (!shards.has(shard)) this.#forget(shard);
    const owners = new Set([...this.#shards.values()].map(({ owner }) => owner));
    for (const [owner, unwatch] of this.#owners) {
      if (owners.has(owner)) continue;
      unwatch();
      this.#owners.delete(owner);
    }
    return this.shards;
  }

  stop(): void {
    this.keep(new Set());
  }

  #free(shard: string): void {
    if (!this.#shards.has(shard)) return;
    this.#forget(shard);
    this.#freed.add(shard);
  }

  #forget(shard: string): void {
    this.#shards.get(shard)?.watch.stop();
    this.#shards.delete(shard);
  }

  #watchRecord({ shard, value, zxid }: SeenShard): void {
    const free = () => this.#free(shard);
    const watch = new NodeWatch(this.#session, this.#paths.recordOf(shard), {
      // The next claim reads it.
      changing: free,
      read: ({ stat }) => {
        if (stat.mzxid !== zxid) free();
      },
      gone: free,
      failed: () => {
        this.#forget(shard);
        this.#onRefused();
      },
    });
    this.#shards.set(shard, { watch, owner: value.state === 'held' ? value.node : undefined });
  }

  /** The tombstone may have come between the look that didn't find it and the watch. */
  #watchOwner(owner: string): void {
    const buried = () =>
      microtask(() => {
        this.#owners.get(owner)?.();
        this.#owners.delete(owner); // It is watched anew for what is waited for from now on.
        for (const [shard, blocked] of this.#shards) if (blocked.owner === owner) this.#free(shard);
      });
    this.#owners.set(owner, this.#session.watchCreation(this.#paths.tombstoneOf(owner), buried, buried));
  }
}
