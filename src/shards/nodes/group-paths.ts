import { parseEntry } from '../../lock/queue/order.js';

/** Where the nodes of a group of shards are. */
export class GroupPaths {
  /** The queue of the members' ephemeral nodes and their heartbeat nodes. Its version rises when members come and go. */
  readonly members: string;
  /** The parent of the shards' records. */
  readonly records: string;
  /** The parent of the plans: one ephemeral node for each member, which has created it. */
  readonly plans: string;
  /** The parent of the tombstones. */
  readonly tombstones: string;
  /** The election of the planner. */
  readonly planner: string;

  /** @param group - the group's path, whose node says which shards there are */
  constructor(readonly group: string) {
    this.members = `${group}/members`;
    this.records = `${group}/shards`;
    this.plans = `${group}/plans`;
    this.tombstones = `${group}/tombstones`;
    this.planner = `${group}/planner`;
  }

  recordOf(shard: string): string {
    return `${this.records}/${nodeNameOf(shard)}`;
  }

  /** @param member - the name of the member's node */
  planOf(member: string): string {
    return `${this.plans}/${uuidOf(member)}`;
  }

  /** @param member - the name of the member's node */
  tombstoneOf(member: string): string {
    return `${this.tombstones}/${uuidOf(member)}`;
  }
}

/** A shard's id as the name of a node: two ids never have the same one. */
export function nodeNameOf(shard: string): string {
  return encodeURIComponent(shard).replace(/^\.{1,2}$/, (dots) => '%2E'.repeat(dots.length));
}

/** Plans and tombstones are named after the uuid, which no other member ever has. */
export function uuidOf(member: string): string {
  const id = parseEntry(member)?.id;
  if (id === undefined) throw new TypeError(`${member} is no member's node`);
  return id;
}
