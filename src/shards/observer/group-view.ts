import {
  membersOf,
  type SmallSet,
  withMember,
  withoutMember,
} from '../../platform/collections/lists-and-sets.js';
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
  /** By number, who publishes the shard. */
  readonly #publishers = new Map<number, SmallSet<Viewed>>();
  readonly #owners = new Map<string, ShardMember>();
  #list: ShardList | undefined;
  /** The ids of the shards whose owner may have changed. */
  readonly #touched = new Set<string>();
  #copy: ReadonlyMap<string, ShardMember> | undefined;

  /** By the ids of the shards. It never changes: the next change makes another map. */
  get owners(): ReadonlyMap<string, ShardMember> {
    this.#copy ??= new Map(this.#owners);
    return this.#copy;
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
    for (const shard of [...(this.#list?.ids ?? []), ...(list?.ids ?? [])]) this.#touched.add(shard);
    this.#list = list;
  }

  /** A member has come, of which nothing is known yet. @param node - the name of its node */
  came(node: string): void {
    this.#members.set(node, { member: undefined, published: NOTHING });
  }

  /** Its node was read. @param data - `undefined`: it can't be read, and such a member owns nothing */
  introduced(node: string, data: MemberData | undefined): void {
    const viewed = this.#members.get(node);
    if (viewed === undefined) return;
    viewed.member = data;
    for (const number of viewed.published.keys()) this.#touch(number);
  }

  /** Its publication was read. @param zxid - of the transaction that wrote it */
  published(node: string, numbers: readonly number[], zxid: bigint): void {
    const viewed = this.#members.get(node);
    if (viewed !== undefined) this.#publish(viewed, numbers, zxid);
  }

  /** It is no longer a member. */
  left(node: string): void {
    const viewed = this.#members.get(node);
    if (viewed === undefined) return;
    this.#publish(viewed, [], 0n);
    this.#members.delete(node);
  }

  #publish(viewed: Viewed, numbers: readonly number[], zxid: bigint): void {
    const { published: before } = viewed;
    viewed.published = new Map(numbers.map((number) => [number, before.get(number) ?? zxid]));
    for (const number of before.keys()) {
      if (viewed.published.has(number)) continue;
      const others = withoutMember(this.#publishers.get(number), viewed);
      if (others === undefined) this.#publishers.delete(number);
      else this.#publishers.set(number, others);
      this.#touch(number);
    }
    for (const number of viewed.published.keys()) {
      if (before.has(number)) continue;
      this.#publishers.set(number, withMember(this.#publishers.get(number), viewed));
      this.#touch(number);
    }
  }

  /** A number without a shard is of a list that comes, or was: then the other list touches all its shards. */
  #touch(number: number): void {
    const shard = this.#list?.ids[number];
    if (shard !== undefined) this.#touched.add(shard);
  }

  /** Settles who owns what by all that was told since the last call. @returns what has changed by that */
  settle(): ReadonlyMap<string, ShardMember | undefined> {
    const changes = new Map<string, ShardMember | undefined>();
    for (const shard of this.#touched) {
      const owner = this.#newestPublisherOf(shard);
      if (owner === this.#owners.get(shard)) continue;
      changes.set(shard, owner);
      if (owner === undefined) this.#owners.delete(shard);
      else this.#owners.set(shard, owner);
    }
    this.#touched.clear();
    if (changes.size > 0) this.#copy = undefined;
    return changes;
  }

  #newestPublisherOf(shard: string): ShardMember | undefined {
    const number = this.#list?.numberOf(shard);
    if (number === undefined) return undefined;
    let newest = -1n;
    let owner: ShardMember | undefined;
    for (const { member, published } of membersOf(this.#publishers.get(number))) {
      const since = published.get(number) as bigint;
      if (member === undefined || since <= newest) continue;
      newest = since;
      owner = member;
    }
    return owner;
  }
}
