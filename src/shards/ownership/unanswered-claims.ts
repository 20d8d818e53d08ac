import type { SeenShard } from './shard-records.js';

/** What a record that names the member says to it. */
export type OwnRecord =
  /** A claim was carried out whose answer hadn't come, or had come too late. */
  | 'claimed'
  /**
   * It is a claim that the member has given back, or that it knows nothing of. Either the servers have taken back what they had answered, as
   * with a restored backup, or this server is behind what the member knows. That term has ended, and its token isn't used again: the shard
   * is to be given back once more.
   */
  | 'ended'
  /** The same, after it was given back once more: the server is behind. */
  | 'outdated';

/** The claims of a member whose outcome isn't known, and what records that name the member say. */
export class UnansweredClaims {
  /** By shard, the version that the record has if the claim is carried out. */
  readonly #open = new Map<string, number>();
  /** By shard, the version at which it was given back once more. */
  readonly #ended = new Map<string, number>();

  get shards(): Iterable<string> {
    return this.#open.keys();
  }

  get size(): number {
    return this.#open.size;
  }

  /** @param version - of the record, if the claim is carried out */
  open(shard: string, version: number): void {
    this.#open.set(shard, version);
  }

  /** A claim was answered, or a record was read that doesn't name the member. */
  close(shard: string): void {
    this.#open.delete(shard);
    this.#ended.delete(shard); // The server is no longer behind. If the record names the member again, that is a new loss of data.
  }

  /** A record that names the member was read. Also closes the claim. */
  read({ shard, version }: SeenShard): OwnRecord {
    const claimed = this.#open.get(shard);
    this.#open.delete(shard);
    if (version === claimed) return 'claimed';
    if (this.#ended.get(shard) === version) return 'outdated';
    this.#ended.set(shard, version);
    return 'ended';
  }
}
