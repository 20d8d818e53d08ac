import type { SeenRecord } from './shard-records.js';

/** The records that were missing or couldn't be read. Each is reported once, until it can be read. */
export class UnavailableRecords {
  readonly #reported = new Set<string>();

  /** @returns those of the shards that were asked for whose records weren't seen, or can't be read */
  among(asked: readonly string[], seen: readonly SeenRecord[]): string[] {
    const readable = new Set(
      seen.flatMap(({ shard, record }) => (record.state === 'unreadable' ? [] : [shard])),
    );
    for (const shard of readable) this.#reported.delete(shard);
    return asked.filter((shard) => !readable.has(shard));
  }

  /** Those that weren't reported yet. They are from now on. */
  unreported(shards: readonly string[]): string[] {
    const fresh = shards.filter((shard) => !this.#reported.has(shard));
    for (const shard of fresh) this.#reported.add(shard);
    return fresh;
  }
}
