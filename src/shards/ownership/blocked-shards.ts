import { ignore, microtask } from '../../platform/async/promises.js';
import { NodeWatch } from '../../session/node-watch.js';
import type { Session } from '../../session/session.js';
import type { GroupPaths } from '../nodes/group-paths.js';
import type { SeenRecord } from './shard-records.js';

/** Waits until shards that others own can be claimed: their records change, or their owners have tombstones. */
export class BlockedShards {
  readonly #session: Session;
  readonly #paths: GroupPaths;
  readonly #onFree: () => void;
  /** By shard, the watch of its record. */
  readonly #records = new Map<string, NodeWatch>();
  /** By owner, the end of the watch for its tombstone, and the connection over which that is watched. */
  readonly #owners = new Map<string, { readonly connection: number | undefined; unwatch(): void }>();

  /** @param onFree - some may be free: to be called again with what was read then */
  constructor(session: Session, paths: GroupPaths, onFree: () => void) {
    this.#session = session;
    this.#paths = paths;
    this.#onFree = onFree;
  }

  /** Waits for these, and for no others. What was waited for before is waited for on. */
  wait(blocked: readonly SeenRecord[]): void {
    const shards = new Set(blocked.map(({ shard }) => shard));
    for (const [shard, watch] of this.#records) if (!shards.has(shard)) this.#forget(shard, watch);
    for (const each of blocked) if (!this.#records.has(each.shard)) this.#watchRecord(each);
    const owners = new Set(blocked.flatMap(({ record }) => (record.state === 'held' ? [record.node] : [])));
    const { connectionNumber: connection } = this.#session;
    for (const [owner, watch] of this.#owners) {
      if (owners.has(owner) && watch.connection === connection) continue;
      watch.unwatch();
      this.#owners.delete(owner);
    }
    for (const owner of owners) if (!this.#owners.has(owner)) this.#watchOwner(owner);
  }

  stop(): void {
    this.wait([]);
  }

  #forget(shard: string, watch: NodeWatch): void {
    watch.stop();
    this.#records.delete(shard);
  }

  #watchRecord({ shard, zxid }: SeenRecord): void {
    const watch: NodeWatch = new NodeWatch(this.#session, this.#paths.recordOf(shard), {
      read: ({ stat }) => {
        if (stat.mzxid === zxid) return;
        this.#forget(shard, watch);
        this.#onFree();
      },
      gone: () => {
        this.#records.delete(shard);
        this.#onFree();
      },
      failed: () => this.#records.delete(shard), // The session has ended, or the next read of the record says why.
    });
    this.#records.set(shard, watch);
  }

  /** The tombstone may have come between the look that didn't find it and the watch. A lost connection ends the watch. */
  #watchOwner(owner: string): void {
    const path = this.#paths.tombstoneOf(owner);
    const { connectionNumber: connection } = this.#session;
    const unwatch = this.#session.watchCreation(path, () => microtask(this.#onFree));
    this.#owners.set(owner, { connection, unwatch });
    this.#session.exists(path).then((stat) => {
      if (stat !== undefined) this.#onFree();
    }, ignore);
  }
}
