import { type PlanInput, type PlanMember, plan, unitOf } from './balanced-plan.js';

/** A member that shards can be planned for. */
export interface AbleMember extends PlanMember {
  /** Shards that it isn't to own for now. */
  readonly refuses: ReadonlySet<string>;
}

/** The input of {@link assign}: that of {@link plan}, and what the members say. */
export interface AssignmentInput extends PlanInput {
  /** Those that don't drain. */
  readonly members: readonly AbleMember[];
  /** Those that are away for a moment, and whose shards wait for them. */
  readonly awaited?: readonly PlanMember[];
  /** Live members own shards, or are to own them, draining ones among them. */
  readonly owners: ReadonlyMap<string, string>;
}

const NONE: ReadonlyMap<string, string> = new Map();

/**
 * Which member is to own which shard, by {@link plan}, and by what the members say. A pin to a member that refuses the shard doesn't hold.
 * A shard that its planned member refuses stays with its owner, if that is another one. Otherwise it goes to the member that has the fewest
 * shards for its weight, of those that don't refuse it. A shard that all refuse is missing in the answer: it has no owner for now. Without
 * members the answer is empty.
 *
 * A member gets no other shards in the place of those that it refuses: it has fewer than its quota as long as it refuses them.
 *
 * A member that is awaited counts with its weight, also if it owned nothing, and keeps those of its shards that have no owner. It gets no others, like a member that
 * refuses them. So nothing moves because it is away.
 *
 * The same input gives the same answer. If no member is awaited, a second assignment with this answer as the owners moves nothing.
 */
export function assign(input: AssignmentInput): Map<string, string> {
  const { shards, members, awaited = [], owners, homes = NONE } = input;
  if (members.length === 0) return new Map();
  const ids = new Set(awaited.map(({ id }) => id));
  const waiting = new Map([...homes].filter(([shard, id]) => ids.has(id) && !owners.has(shard)));
  const byId = new Map(members.map((member) => [member.id, member]));
  const takes = (shard: string, id: string) => byId.get(id)?.refuses.has(shard) === false;
  const pins = new Map([...(input.pins ?? NONE)].filter(([shard, id]) => takes(shard, id)));
  const planned = plan({
    shards: members.every(({ refuses }) => refuses.size > 0)
      ? shards.filter((shard) => members.some(({ refuses }) => !refuses.has(shard)))
      : shards,
    members: [...members, ...awaited],
    owners: waiting.size === 0 ? owners : new Map([...owners, ...waiting]),
    ...{ homes, pins },
  });
  replaceNone(planned, { ...input, pins }, takes);
  return redirect(planned, input, (shard, id) => takes(shard, id) || waiting.get(shard) === id);
}

/**
 * For each shard that a member refuses and another one owns, one that the plan moves to the member from a third one stays where it is.
 * Otherwise the member would get healthy shards in the place of those, and may fail with them as well.
 */
function replaceNone(
  planned: Map<string, string>,
  { members, owners, pins = NONE }: AssignmentInput,
  takes: (shard: string, id: string) => boolean,
): void {
  const ownedByAnother = (shard: string, id: string) => {
    const owner = owners.get(shard);
    return owner !== undefined && owner !== id && takes(shard, owner);
  };
  const counts = new Map<string, number>();
  for (const { id, refuses } of members) {
    const missed = [...refuses].filter(
      (shard) => planned.has(shard) && planned.get(shard) !== id && ownedByAnother(shard, id),
    );
    counts.set(id, missed.length);
  }
  for (const [shard, id] of planned) {
    const count = counts.get(id) ?? 0;
    if (count === 0 || pins.has(shard) || !takes(shard, id) || !ownedByAnother(shard, id)) continue;
    planned.set(shard, owners.get(shard) as string);
    counts.set(id, count - 1);
  }
}

/** Plans a shard for another member if it is planned for one that may not own it. */
function redirect(
  planned: Map<string, string>,
  { members, owners }: AssignmentInput,
  mayOwn: (shard: string, id: string) => boolean,
): Map<string, string> {
  const counts = new Map(members.map(({ id }) => [id, 0]));
  const count = (id: string) => counts.set(id, (counts.get(id) ?? 0) + 1);
  const refused: string[] = [];
  for (const [shard, id] of planned) {
    if (mayOwn(shard, id)) count(id);
    else refused.push(shard);
  }
  const inOrder = [...members].sort((one, other) => (one.id < other.id ? -1 : 1));
  for (const shard of refused) {
    const takers = inOrder.filter(({ refuses }) => !refuses.has(shard));
    const owner = takers.find(({ id }) => id === owners.get(shard));
    const { id } = owner ?? leastLoaded(takers, counts);
    planned.set(shard, id);
    count(id);
  }
  return planned;
}

/** The first of those that would have the fewest shards for its weight with one more. */
function leastLoaded(members: readonly AbleMember[], counts: ReadonlyMap<string, number>): AbleMember {
  const unit = unitOf(members.map(({ weight }) => weight));
  const loadOf = ({ id, weight }: AbleMember) => ((counts.get(id) ?? 0) + 1) / (weight / unit);
  return members.reduce((least, member) => (loadOf(member) < loadOf(least) ? member : least));
}
