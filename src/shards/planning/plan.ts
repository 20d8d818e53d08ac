import { InvalidOptionError } from '../../errors.js';
import { type Share, targetsOf } from './targets.js';

/** One that can own shards. */
export interface PlanMember {
  /** The member's id. */
  readonly id: string;
  /** Its part of the shards, in proportion to the other members' weights: over 0. */
  readonly weight: number;
}

/** What a plan is made from. Shards and members that the maps name and that aren't there any more are ignored. */
export interface PlanInput {
  /** The ids of all shards, in their order. */
  readonly shards: readonly string[];
  /** The members that can own shards. */
  readonly members: readonly PlanMember[];
  /** By shard, the id of the member that owns it, or is to own it by the former plan. */
  readonly owners?: ReadonlyMap<string, string>;
  /** By shard, the id of the member that owned it before it left for a while: it gets that back when it returns. */
  readonly homes?: ReadonlyMap<string, string>;
  /** By shard, the id of the member that is to own it, whatever the others have. */
  readonly pins?: ReadonlyMap<string, string>;
}

const NONE = -1;

/**
 * Which member is to own which shard: by shard, a member's id. Empty without members.
 *
 * Guaranteed: a shard that is pinned to a member that is there belongs to it. Of the other shards each member has its quota by weight,
 * rounded down or up (one with more pins than its quota has no others), and no plan of which that is true moves fewer shards away from
 * their owners. With equal weights and no pins, one member that joins a balanced group gets its quota, and nothing else moves; of one that
 * leaves, its shards move, and nothing else. With other weights more may move then: no rule that keeps to the rounded quotas can
 * exclude that (Balinski and Young, *Fair Representation*).
 *
 * The same input gives the same plan, in whatever order members and maps are. It takes time in proportion to the number of shards, and of
 * members.
 *
 * @throws InvalidOptionError for a shard or a member that is named twice, or a weight that isn't a finite number over 0
 */
export function plan({ shards, members, owners, homes, pins }: PlanInput): Map<string, string> {
  const ordered = [...members].sort((one, other) => (one.id < other.id ? -1 : Number(one.id > other.id)));
  const places = placesOf(ordered);
  const planned = new Map<string, string>();
  if (ordered.length === 0) return planned;
  const memberOf = (map: ReadonlyMap<string, string> | undefined) => {
    const found = new Int32Array(shards.length).fill(NONE);
    if (map === undefined || map.size === 0) return found;
    let at = 0;
    // A former plan has them in this order: to go through a map takes a tenth of looking all up.
    for (const [shard, id] of map) {
      if (shard !== shards[at]) break;
      found[at++] = places.get(id) ?? NONE;
    }
    for (; at < shards.length; at++) {
      const id = map.get(shards[at] as string);
      if (id !== undefined) found[at] = places.get(id) ?? NONE;
    }
    return found;
  };
  const [owned, home, pinned] = [memberOf(owners), memberOf(homes), memberOf(pins)];
  const weights = ordered.map(({ weight }) => weight);
  const placed = distribute({ weights, owned, home, pinned });
  for (let at = 0; at < shards.length; at++)
    planned.set(shards[at] as string, (ordered[placed[at] as number] as PlanMember).id);
  if (planned.size < shards.length) throw namedTwice(shards);
  return planned;
}

/** Members by their place, for each shard: `NONE` if there is none. */
interface Places {
  readonly weights: readonly number[];
  readonly owned: Int32Array;
  readonly home: Int32Array;
  readonly pinned: Int32Array;
}

/** Which member, by its place, is to own each shard. */
function distribute({ weights, owned, home, pinned }: Places): Int32Array {
  const planned = pinned.map((member, at) => (member === NONE ? (owned[at] as number) : member));
  const pins = counted(weights.length, pinned);
  const held = counted(weights.length, planned).map((count, member) => count - (pins[member] as number));
  const shares: Share[] = weights.map((weight, member) => ({
    ...{ weight, pinned: pins[member] as number },
    held: (pins[member] as number) + (held[member] as number),
  }));
  /** How many shards each may have that aren't pinned. */
  const room = targetsOf(owned.length, shares).map((target, member) => target - (pins[member] as number));
  giveAway(planned, { home, pinned, excess: room.map((most, member) => (held[member] as number) - most) });
  const lack = room.map((most, member) => most - Math.min(most, held[member] as number));
  fill(planned, home, lack);
  return planned;
}

/** How many shards there are of each member. */
function counted(members: number, of: Int32Array): Int32Array {
  const counts = new Int32Array(members);
  for (let at = 0; at < of.length; at++) {
    const member = of[at] as number;
    if (member !== NONE) counts[member] = (counts[member] as number) + 1;
  }
  return counts;
}

/** Members with too many shards give away first what is at home with another one, then what comes last. */
function giveAway(
  planned: Int32Array,
  { home, pinned, excess }: { home: Int32Array; pinned: Int32Array; excess: number[] },
): void {
  for (const onlyAway of [true, false]) {
    for (let at = planned.length - 1; at >= 0; at--) {
      const member = planned[at] as number;
      if (member === NONE || pinned[at] !== NONE || (excess[member] as number) <= 0) continue;
      if (onlyAway && (home[at] === NONE || home[at] === member)) continue;
      planned[at] = NONE;
      excess[member] = (excess[member] as number) - 1;
    }
  }
}

/** Shards that belong to no member go home where that lacks some, the others to those that lack some, in order. */
function fill(planned: Int32Array, home: Int32Array, lack: number[]): void {
  const give = (at: number, member: number) => {
    planned[at] = member;
    lack[member] = (lack[member] as number) - 1;
  };
  for (let at = 0; at < planned.length; at++) {
    const own = home[at] as number;
    if (planned[at] === NONE && own !== NONE && (lack[own] as number) > 0) give(at, own);
  }
  for (let at = 0, next = 0; at < planned.length; at++) {
    if (planned[at] !== NONE) continue;
    while (lack[next] === 0) next++;
    give(at, next);
  }
}

function placesOf(ordered: readonly PlanMember[]): Map<string, number> {
  const places = new Map<string, number>();
  for (const [at, { id, weight }] of ordered.entries()) {
    if (places.has(id)) throw new InvalidOptionError('members', id, 'members with an id of their own each');
    if (!(Number.isFinite(weight) && weight > 0))
      throw new InvalidOptionError(`the weight of ${id}`, weight, 'a finite number over 0');
    places.set(id, at);
  }
  return places;
}

function namedTwice(shards: readonly string[]): InvalidOptionError {
  const seen = new Set<string>();
  const twice = shards.find((shard) => seen.size === seen.add(shard).size);
  return new InvalidOptionError('shards', twice, 'shards with an id of their own each');
}
