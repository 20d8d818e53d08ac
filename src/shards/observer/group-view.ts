import type { MemberData } from '../stored/data-formats.js';
import type { ShardList } from '../stored/shard-list.js';

/** A member of a group of shards, as others see it. The same object for as long as an observer sees it. */
export interface ShardMember {
  /** Its name, which it keeps when it joins again. */
  readonly id: string;
  /** Its share of the shards, in proportion to the other members' weights. */
  readonly weight: number;
  /** The data that it advertises: its address, for example. */
  readonly data?: string;
}

/** What is known of one member. */
interface Viewed {
  /** `undefined`: its node wasn't read yet, or says nothing that can be read. */
  member: ShardMember | undefined;
  /**
   * By its publication, the numbers of the shards that it owns, each with the zxid of the first publication in a row that was seen to say
   * so.
   */
  published: ReadonlyMap<number, bigint>;
}

const NOTHING: ReadonlyMap<number, bigint> = new Map();

/**
 * Who owns which shard, by what the members publish. It reads nothing itself. Two members may say that they own a shard: the publication of
 * one that has given it back may come late. Then the one that has said so first at a later moment is the owner.
 */
export class GroupView {
  readonly #members = new Map<string, Viewed>();
  #owners: ReadonlyMap<string, ShardMember> = new Map();
  #list: ShardList | undefined;

  /** By the ids of the shards. It never changes: the next change makes another map. */
  get owners(): ReadonlyMap<string, ShardMember> {
    return this.#owners;
  }

  /** In the order in which they have come. */
  get members(): ShardMember[] {
    return [...this.membersByNode.values()];
  }

  /** The same, by the names of their nodes. */
  get membersByNode(): Map<string, ShardMember> {
    const known = [...this.#members].flatMap(([node, { member }]) =>
      member ? [[node, member] as const] : [],
    );
    return new Map(known);
  }

  /** Which shards there are. `undefined`: there is no group yet. */
  get list(): ShardList | undefined {
    return this.#list;
  }

  ownerOf(shard: string): ShardMember | undefined {
    return this.#owners.get(shard);
  }

  /** The group has these shards: the numbers may mean other shards now. */
  listed(list: ShardList | undefined): void {
    this.#list = list;
  }

  /** A member has come, of which nothing is known yet. @param node - the name of its node */
  came(node: string): void {
    this.#members.set(node, { member: undefined, published: NOTHING });
  }

  /** Its node was read. @param data - `undefined`: it can't be read, and such a member owns nothing */
  introduced(node: string, data: MemberData | undefined): void {
    const viewed = this.#members.get(node);
    if (viewed !== undefined) viewed.member = data;
  }

  /** Its publication was read. @param zxid - of the transaction that wrote it */
  published(node: string, numbers: readonly number[], zxid: bigint): void {
    const viewed = this.#members.get(node);
    if (viewed === undefined) return;
    const { published: before } = viewed;
    viewed.published = new Map(numbers.map((number) => [number, before.get(number) ?? zxid]));
  }

  /** It is no longer a member. */
  left(node: string): void {
    this.#members.delete(node);
  }

  /**
   * Settles who owns what by all that was told since the last call. Takes time in proportion to the number of the group's shards.
   * @returns what has changed by that
   */
  settle(): ReadonlyMap<string, ShardMember | undefined> {
    const before = this.#owners;
    const owners = this.#newestPublishers();
    const changes = new Map<string, ShardMember | undefined>();
    for (const shard of before.keys()) if (!owners.has(shard)) changes.set(shard, undefined);
    for (const [shard, owner] of owners) if (before.get(shard) !== owner) changes.set(shard, owner);
    if (changes.size > 0) this.#owners = owners;
    return changes;
  }

  /** By shard, the member that has said last that it owns it. A number without a shard is of a list that comes, or was. */
  #newestPublishers(): Map<string, ShardMember> {
    const ids = this.#list?.ids ?? [];
    const newest = new Map<string, bigint>();
    const owners = new Map<string, ShardMember>();
    for (const { member, published } of this.#members.values()) {
      if (member === undefined) continue;
      for (const [number, since] of published) {
        const shard = ids[number];
        if (shard === undefined || since <= (newest.get(shard) ?? -1n)) continue;
        newest.set(shard, since);
        owners.set(shard, member);
      }
    }
    return owners;
  }
}
