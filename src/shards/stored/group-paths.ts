import { parseEntry } from '../../queue/names-and-order.js';

/** Where the nodes of a group of shards are. */
export class GroupPaths {
  /** The queue of the members' ephemeral nodes and their heartbeat nodes. Its version rises when members come and go. */
  readonly members: string;
  /** The parent of the shards' records. */
  readonly records: string;
  /** The parent of the plans: one ephemeral node for each member, which has created it. */
  readonly plans: string;
  /** The parent of what the members publish of what they own: one ephemeral node for each, which has created it. */
  readonly owned: string;
  /** The parent of the tombstones. */
  readonly tombstones: string;
  /** The parent of what members say to the planner: one ephemeral node for each member that has something to say. */
  readonly reports: string;
  /** The parent of the homes: one persistent node for each member that has left and may come back. */
  readonly homes: string;
  /** Which shards are pinned to which members. Its data change by an operator's hand. */
  readonly pins: string;
  /** The election of the planner. */
  readonly planner: string;

  /** @param group - the group's path, whose node says which shards there are */
  constructor(readonly group: string) {
    this.members = `${group}/members`;
    this.records = `${group}/shards`;
    this.plans = `${group}/plans`;
    this.owned = `${group}/owned`;
    this.tombstones = `${group}/tombstones`;
    this.reports = `${group}/reports`;
    this.homes = `${group}/homes`;
    this.pins = `${group}/pins`;
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
  ownedOf(member: string): string {
    return `${this.owned}/${uuidOf(member)}`;
  }

  /** @param member - the name of the member's node */
  tombstoneOf(member: string): string {
    return `${this.tombstones}/${uuidOf(member)}`;
  }

  /** @param member - the name of the member's node */
  reportOf(member: string): string {
    return `${this.reports}/${uuidOf(member)}`;
  }

  /** @param id - the member's, with which it comes back */
  homeOf(id: string): string {
    return `${this.homes}/${nodeNameOf(id)}`;
  }
}

/** Whether these are children of a group: the first member creates these three before the group says which shards it has. */
export function hasPartsOfGroup(names: readonly string[]): boolean {
  return ['members', 'shards', 'plans'].every((part) => names.includes(part));
}

/** The id of a shard or a member as the name of a node: two ids never have the same one. @throws URIError for an id without a UTF-8 form */
export function nodeNameOf(id: string): string {
  return encodeURIComponent(id).replace(/^\.{1,2}$/, (dots) => '%2E'.repeat(dots.length));
}

/** The id that has this name as {@link nodeNameOf} gives it. `undefined` if none has: any client may have made the node. */
export function idOfNodeName(name: string): string | undefined {
  try {
    const id = decodeURIComponent(name);
    return nodeNameOf(id) === name ? id : undefined;
  } catch {
    return undefined; // No UTF-8 form has such a name.
  }
}

/** Plans, reports, publications and tombstones are named after the uuid, which no other member ever has. */
export function uuidOf(member: string): string {
  const id = parseEntry(member)?.id;
  if (id === undefined) throw new TypeError(`${member} is not the node of a member`);
  return id;
}
