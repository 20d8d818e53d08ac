import { InvalidOptionError } from '../../errors.js';

/** The input of {@link plan}. Names in the maps of shards and members that are no longer there are ignored. */
export interface PlanInput {
  /** The ids of all shards, in their order. */
  readonly shards: readonly string[];
  /** The members that can own shards. */
  readonly members: readonly {
    /** The member's id. */
    readonly id: string;
    /** Its share of the shards, in proportion to the other members' weights: a number over 0. */
    readonly weight: number;
  }[];
  /** By shard, the id of the member that owns it, or is to own it by the former plan. */
  readonly owners?: ReadonlyMap<string, string>;
  /** By shard, the id of the member that owned it before it left for a while: it gets that back when it returns. */
  readonly homes?: ReadonlyMap<string, string>;
  /** By shard, the id of the member that must own it, however many shards the others have. */
  readonly pins?: ReadonlyMap<string, string>;
}

export type PlanMember = PlanInput['members'][number];

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
  const placed = membersIn(owners, shards, places) ?? new Int32Array(shards.length).fill(NONE);
  distribute(placed, {
    weights: ordered.map(({ weight }) => weight),
    home: membersIn(homes, shards, places),
    pinned: membersIn(pins, shards, places),
  });
  const ids = ordered.map(({ id }) => id);
  for (let at = 0; at < placed.length; at++)
    planned.set(shards[at] as string, ids[placed[at] as number] as string);
  if (planned.size < shards.length) throw namedTwice(shards);
  return planned;
}

/**
 * By shard, the place of the member that the map names, or `NONE`. `undefined` for an empty map: then there is nothing to go through.
 *
 * A process's first plan runs on code that V8 hasn't compiled yet. There `forEach` takes a tenth of the time that a loop over the map's
 * entries takes, which allocates an array for each of them.
 */
function membersIn(
  map: ReadonlyMap<string, string> | undefined,
  shards: readonly string[],
  places: ReadonlyMap<string, number>,
): Int32Array | undefined {
  if (map === undefined || map.size === 0) return undefined;
  const found = new Int32Array(shards.length).fill(NONE);
  let at = 0;
  // A former plan has the shards in this order: then none has to be looked up.
  map.forEach((id, shard) => {
    if (shard === shards[at]) found[at++] = places.get(id) ?? NONE;
  });
  for (let left = map.size - at; left > 0 && at < shards.length; at++) {
    const id = map.get(shards[at] as string);
    if (id === undefined) continue;
    found[at] = places.get(id) ?? NONE;
    left--;
  }
  return found;
}

/** Members by their place, for each shard: `NONE` if there is none. `undefined`: there is none for any shard. */
interface Places {
  readonly home: Int32Array | undefined;
  readonly pinned: Int32Array | undefined;
}

/** @param placed - by shard, the place of the member that owns it, or `NONE`; afterwards, of the member that is to own it */
function distribute(
  placed: Int32Array,
  { weights, home, pinned }: Places & { readonly weights: readonly number[] },
): void {
  const pins = counted(weights.length, pinned);
  if (pinned !== undefined)
    for (let at = 0; at < placed.length; at++) if (pinned[at] !== NONE) placed[at] = pinned[at] as number;
  const held = counted(weights.length, placed);
  const targets = targetsOf(placed.length, weights, pins, held);
  /** How many shards each member has too many of, or lacks if that is below 0. */
  const excess = targets.map((target, member) => (held[member] as number) - target);
  const lack = excess.map((count) => Math.max(0, -count));
  giveAway(placed, { home, pinned }, excess);
  fill(placed, home, lack);
}

/** How many shards there are of each member. */
function counted(members: number, of: Int32Array | undefined): Int32Array {
  const counts = new Int32Array(members);
  if (of === undefined) return counts;
  for (let at = 0; at < of.length; at++) {
    const member = of[at] as number;
    if (member !== NONE) counts[member] = (counts[member] as number) + 1;
  }
  return counts;
}

/** Members with too many shards give away first what is at home with another one, then what comes last. */
function giveAway(placed: Int32Array, { home, pinned }: Places, excess: number[]): void {
  let left = excess.reduce((sum, count) => sum + Math.max(0, count), 0);
  for (const onlyAway of home === undefined ? [false] : [true, false]) {
    for (let at = placed.length - 1; at >= 0 && left > 0; at--) {
      const member = placed[at] as number;
      if (member === NONE || (excess[member] as number) <= 0) continue;
      if (pinned !== undefined && pinned[at] !== NONE) continue;
      if (onlyAway && (home?.[at] === NONE || home?.[at] === member)) continue;
      placed[at] = NONE;
      excess[member] = (excess[member] as number) - 1;
      left--;
    }
  }
}

/** Shards that belong to no member go home where that lacks some, the others to those that lack some, in order. */
function fill(placed: Int32Array, home: Int32Array | undefined, lack: number[]): void {
  if (home !== undefined)
    for (let at = 0; at < placed.length; at++) {
      const own = home[at] as number;
      if (placed[at] !== NONE || own === NONE || lack[own] === 0) continue;
      placed[at] = own;
      lack[own] = (lack[own] as number) - 1;
    }
  for (let at = 0, next = 0; at < placed.length; at++) {
    if (placed[at] !== NONE) continue;
    while (lack[next] === 0) next++;
    placed[at] = next;
    lack[next] = (lack[next] as number) - 1;
  }
}

function placesOf(ordered: readonly PlanMember[]): Map<string, number> {
  const places = new Map<string, number>();
  ordered.forEach(({ id, weight }, at) => {
    if (places.has(id)) throw new InvalidOptionError('members', id, 'members with different ids');
    if (!(Number.isFinite(weight) && weight > 0))
      throw new InvalidOptionError(`the weight of ${id}`, weight, 'a finite number over 0');
    places.set(id, at);
  });
  return places;
}

function namedTwice(shards: readonly string[]): InvalidOptionError {
  const seen = new Set<string>();
  const twice = shards.find((shard) => seen.size === seen.add(shard).size);
  return new InvalidOptionError('shards', twice, 'shards with different ids');
}

/**
 * How many shards each member is to have. A member with more pins than its quota has those, and no others; the rest is shared out by
 * weight: each of the other members has its quota, rounded down or up. Rounded up are first those that hold more than the quota rounded
 * down, since they would have to give a shard away; then those with the largest remainders; then those that come first.
 * @param count - of all shards, at least as many as are pinned
 * @param weights - of the members. The index of a member is the same in all three
 * @param pinned - how many shards are pinned to the member
 * @param held - how many the member holds, those that are pinned to it included, and those that are pinned to others not
 */
function targetsOf(
  count: number,
  weights: readonly number[],
  pinned: Int32Array,
  held: Int32Array,
): number[] {
  const quotas = quotasOf(count, weights, pinned);
  const targets = quotas.map((quota, at) =>
    quota === undefined ? (pinned[at] as number) : Math.floor(quota),
  );
  const spare = count - targets.reduce((sum, target) => sum + target, 0);
  const remainders = quotas.map((quota = 0) => quota % 1);
  const remainderOf = (at: number) => remainders[at] as number;
  const gains = (at: number) => Number((held[at] as number) > (targets[at] as number));
  const inOrder = Array.from(weights.keys())
    .filter((at) => remainderOf(at) > 0)
    .sort((one, other) => gains(other) - gains(one) || remainderOf(other) - remainderOf(one) || one - other);
  for (const at of inOrder.slice(0, spare)) targets[at] = (targets[at] as number) + 1;
  return targets;
}

/** By weight, of what is left by those that have more pins than that: these have no quota. */
function quotasOf(count: number, weights: readonly number[], pinned: Int32Array): (number | undefined)[] {
  let sharing = weights.map(() => true);
  for (;;) {
    const unit = unitOf(weights.filter((_, at) => sharing[at]));
    let left = count;
    let sum = 0;
    for (let at = 0; at < weights.length; at++)
      if (sharing[at]) sum += (weights[at] as number) / unit;
      else left -= pinned[at] as number;
    const quotas = weights.map((weight, at) =>
      sharing[at] ? exact((left * (weight / unit)) / sum) : undefined,
    );
    const stays = quotas.map((quota, at) => quota !== undefined && (pinned[at] as number) <= quota);
    // Without them there is less for each of the others than before, so none comes back.
    if (stays.every((each, at) => each === sharing[at])) return quotas;
    sharing = stays;
  }
}

/**
 * The number by which weights are divided, so that no sum, product or quotient of them overflows: the largest is about 1 then. It is a
 * power of two, so the division rounds only what is far too small to count.
 */
export function unitOf(weights: readonly number[]): number {
  const largest = weights.reduce((most, weight) => Math.max(most, weight), 0);
  return 2 ** Math.min(Math.floor(Math.log2(largest)), 1023);
}

/** A whole number where the quotient is one but for rounding. */
function exact(quotient: number): number {
  const whole = Math.round(quotient);
  return Math.abs(quotient - whole) <= 1e-9 * Math.max(1, whole) ? whole : quotient;
}
