import type { ShardMember } from '../../shards/observer/group-view.js';
import { shownData, shownId } from './read-limits.js';
import type { GroupChange, GroupView, MoveView, TransitionView } from './view-types.js';

/** A group of shards as it was read. */
export interface GroupFacts {
  /** The ids of the shards; `undefined` if the group's node doesn't say which shards it has. */
  readonly shards: readonly string[] | undefined;
  /** By the names of their nodes, in the order of joining. */
  readonly members: ReadonlyMap<string, ShardMember>;
  readonly ownerOf: (shard: string) => ShardMember | undefined;
  /** The id of the member that plans. */
  readonly planner: string | undefined;
  readonly pins: ReadonlyMap<string, string>;
}

const MOST_MOVES = 100;
const NOTHING_READ = { shards: [], members: [], owners: [], pins: [], moves: [], state: 'deserted' } as const;

/** What is known of one group, over all sessions that have read it. Reads nothing itself. */
export class GroupModel {
  readonly path: string;
  #view: GroupView;
  /** By shard, the id of the last known owner. */
  readonly #lastOwners = new Map<string, string>();
  #hasRead = false;

  constructor(path: string) {
    this.path = path;
    this.#view = { path, ...NOTHING_READ };
  }

  get view(): GroupView {
    return this.#view;
  }

  /**
   * @param now - the time of day
   * @returns the change to report: the whole group, or only the shards that have other owners; and the transitions
   */
  read(
    facts: GroupFacts,
    now: number,
  ): { change: GroupView | GroupChange | undefined; transitions: TransitionView[] } {
    const former = this.#view;
    const moves = this.#movesTo(facts, now);
    const members = membersOf(facts);
    const index = new Map([...facts.members.values()].map((member, at) => [member, at]));
    const { shards = [] } = facts;
    const isSame = same(former.shards, shards);
    if (!isSame && facts.shards !== undefined) this.#forgetAllBut(shards);
    const owners = shards.map((shard) => index.get(facts.ownerOf(shard) as ShardMember) ?? -1);
    const next: GroupView = {
      path: this.path,
      state: stateOf(facts.shards, members.length, owners),
      shards: isSame ? former.shards : shards,
      members,
      owners,
      pins: [...facts.pins].map(([shard, member]) => ({ shard, member: shownId(member) })),
      moves: [...moves, ...former.moves].slice(0, MOST_MOVES),
    };
    this.#view = next;
    const wasRead = this.#hasRead;
    this.#hasRead = true;
    const transitions = wasRead ? transitionsOf(former, next, moves, now) : [];
    const isLike = isSame && wasRead && same(former.members, members) && same(former.pins, next.pins);
    if (!isLike) return { change: next, transitions };
    const owned = owners.flatMap((owner, shard) =>
      owner === former.owners[shard] ? [] : [[shard, owner] as const],
    );
    if (owned.length === 0 && former.state === next.state) return { change: undefined, transitions };
    return { change: { path: this.path, state: next.state, owned, moves }, transitions };
  }

  /** A server refuses to show it. */
  refused(): void {
    this.#view = { ...this.#view, state: 'unreadable' };
  }

  /** A shard has moved when its owner isn't the last known one, however long the shard had no owner in between. */
  #movesTo({ shards = [], ownerOf }: GroupFacts, now: number): MoveView[] {
    const moves: MoveView[] = [];
    for (const shard of shards) {
      const owner = ownerOf(shard);
      if (owner === undefined) continue;
      const from = this.#lastOwners.get(shard) ?? null;
      const to = shownId(owner.id);
      if (from === to) continue;
      this.#lastOwners.set(shard, to);
      if (this.#hasRead) moves.push({ at: now, shard, from, to });
    }
    return moves;
  }

  #forgetAllBut(shards: readonly string[]): void {
    const kept = new Set(shards);
    for (const shard of this.#lastOwners.keys()) if (!kept.has(shard)) this.#lastOwners.delete(shard);
  }
}

function membersOf({ members, planner }: GroupFacts): GroupView['members'] {
  return [...members].map(([node, { id, weight, data }]) => {
    const shown = shownData(data);
    return {
      ...{ id: shownId(id), node, weight, planner: id === planner },
      ...(shown !== undefined && { data: shown }),
    };
  });
}

function stateOf(
  shards: readonly string[] | undefined,
  members: number,
  owners: readonly number[],
): GroupView['state'] {
  if (shards === undefined) return 'unreadable';
  if (members === 0) return 'deserted';
  return owners.includes(-1) ? 'incomplete' : 'owned';
}

function transitionsOf(
  former: GroupView,
  next: GroupView,
  moves: readonly MoveView[],
  at: number,
): TransitionView[] {
  const { path } = next;
  const nodesOf = (view: GroupView) => new Set(view.members.map(({ node }) => node));
  const [before, after] = [nodesOf(former), nodesOf(next)];
  const joined = next.members.filter(({ node }) => !before.has(node));
  const left = former.members.filter(({ node }) => !after.has(node));
  const [first] = moves;
  const moved =
    first === undefined
      ? []
      : [
          moves.length === 1
            ? { at, path, kind: 'moved' as const, id: first.to, reason: `shard ${first.shard}` }
            : { at, path, kind: 'moved' as const, id: null, reason: `${moves.length} shards` },
        ];
  return [
    ...joined.map(({ id }) => ({ at, path, kind: 'joined' as const, id })),
    ...moved,
    ...left.map(({ id }) => ({ at, path, kind: 'left' as const, id })),
  ];
}

function same(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
