import { ElectionReader } from '../election/record/election-reader.js';
import { leaderOf } from '../election/record/leader-snapshot.js';
import { LazyAbortController } from '../platform/async/lazy-abort-controller.js';
import { queueOf } from '../queue/names-and-order.js';
import { ifThere } from '../session/operations.js';
import type { Session } from '../session/session.js';
import type { SeenMember } from './members/member-watch.js';
import { readRecords } from './ownership/shard-records.js';
import { type PlannerSnapshot, readPlannerSnapshot } from './planner/planner-snapshot.js';
import { type RemovedShard, readGroup, readRemoved } from './read-and-resize-group.js';
import { type MemberData, parseMember } from './stored/data-formats.js';
import type { GroupPaths } from './stored/group-paths.js';

/** One shard, by its record. */
export interface ShardStatus {
  readonly id: string;
  /** The id of the member that its record names; `null`: no member owns it. */
  readonly owner: string | null;
  /** Of its present owner, or the last one; 0 before the first. */
  readonly term: number;
  /** The id of the member that is to own it by the plans; `null`: none. */
  readonly planned: string | null;
  /** The id of the member that it is pinned to. */
  readonly pinned?: string;
  /** Why it isn't as it is planned, if it isn't. */
  readonly problem?: string;
}

/** One member. */
export interface MemberStatus extends Omit<MemberData, 'prepares'> {
  /** How many shards it owns. */
  readonly owned: number;
  /** Their ids. */
  readonly shards: readonly string[];
  readonly draining: boolean;
  /** The ids of shards that it doesn't take for now, since their work fails there. */
  readonly refused: readonly string[];
}

/** A group at one moment. */
export interface GroupStatus {
  readonly group: string;
  readonly shards: readonly ShardStatus[];
  /** Those that the group has no more, and that members still have to give back. */
  readonly removed: readonly ShardStatus[];
  readonly members: readonly MemberStatus[];
  /** The id of the member that plans; `null`: none does. */
  readonly planner: string | null;
}

/**
 * Reads who owns what, by the records themselves. It may be a moment old, and its parts may be of different moments.
 * @throws InvalidStateError if there is no such group; what ended the session; or a server's refusal
 */
export async function readGroupStatus(session: Session, paths: GroupPaths): Promise<GroupStatus> {
  const shards = await readGroup(session, paths);
  const present = await readMembers(session, paths);
  let refusal: unknown;
  const source = {
    ...{ session, paths, shards: () => shards },
    records: { read: (ids: readonly string[]) => readRecords(session, paths, ids) },
    onError: (error: unknown) => {
      refusal ??= error;
    },
  };
  const [snapshot, planner, removed] = await Promise.all([
    readPlannerSnapshot(source, present, new LazyAbortController()),
    new ElectionReader(session, paths.planner).snapshot(),
    readRemoved(session, paths, shards.list),
  ]);
  if (refusal !== undefined) throw refusal;
  return {
    ...{ group: paths.group, ...statusOf(snapshot) },
    removed: removedOf(removed, present),
    planner: leaderOf(planner)?.id ?? null,
  };
}

/** Of a member that is gone nothing is known: it may have ended long ago, since no member claims the shard after it. */
function removedOf(removed: readonly RemovedShard[], present: readonly SeenMember[]): ShardStatus[] {
  const ids = new Map(present.map(({ node, id }) => [node, id]));
  return removed.flatMap(({ shard, record }): ShardStatus[] => {
    const owner = ids.get(record.node);
    if (owner === undefined) return [];
    const problem = `${owner} has still to give it back`;
    return [{ id: shard, owner, term: record.term, planned: null, problem }];
  });
}

async function readMembers(session: Session, { members }: GroupPaths): Promise<SeenMember[]> {
  const names = await session.retryUntilAnswered(() => session.getChildren(members));
  const read = queueOf(names).map(async ({ node }): Promise<SeenMember[]> => {
    const found = await ifThere(session.retryUntilAnswered(() => session.getData(`${members}/${node}`)));
    const member = found && parseMember(found.data); // Else it has left.
    return member === undefined ? [] : [{ ...member, node }];
  });
  return (await Promise.all(read)).flat();
}

/** A pure function of what was read. */
export function statusOf(snapshot: PlannerSnapshot): Pick<GroupStatus, 'shards' | 'members'> {
  const { members, plans, reports, pins, tombstones } = snapshot;
  const seen = new Map(snapshot.records?.map((each) => [each.shard, each]));
  const planned = new Map<string, string>();
  for (const [node, plan] of plans) {
    const id = members.get(node)?.id;
    if (id !== undefined && plan.shards !== 'unknown')
      for (const shard of plan.shards)
        if (!planned.has(shard) || !isOwner(shard, node)) planned.set(shard, id);
  }
  // While the next one prepares for it, the owner's plan has the shard as well.
  function isOwner(shard: string, node: string): boolean {
    const record = seen.get(shard)?.value;
    return record?.state === 'held' && record.node === node;
  }
  const owned = new Map([...members.keys()].map((node): [string, string[]] => [node, []]));
  const shards = snapshot.shards.list.ids.map((id): ShardStatus => {
    const record = seen.get(id)?.value;
    const isHeld = record?.state === 'held';
    const isThere = isHeld && members.has(record.node);
    const owner = record?.state === 'held' ? (record.id ?? null) : null;
    if (isThere) owned.get(record.node)?.push(id);
    const next = planned.get(id) ?? null;
    const pinned = pins.get(id);
    const problem = problemOf();
    return {
      ...{ id, owner, planned: next },
      term: record === undefined || record.state === 'unreadable' ? 0 : record.term,
      ...(pinned !== undefined && { pinned }),
      ...(problem !== undefined && { problem }),
    };
    function problemOf(): string | undefined {
      if (record === undefined) return 'its record is missing, or may not be read';
      if (record.state === 'unreadable')
        // The term is as high as any before it can have been: each claim was a version.
        return `another client has overwritten its record: its owner keeps it, and no other member can claim it. Stop its owner (${next ?? 'it is in no plan'}), and write {"format":1,"state":"vacant","term":${seen.get(id)?.version}} as data of the record`;
      if (isHeld && !isThere) {
        const isBuried = tombstones.some((name) => record.node.includes(name));
        return isBuried
          ? `${owner} has failed: it is about to be taken`
          : `${owner} is gone: its lease has to end`;
      }
      if (owner === next) return undefined;
      if (next === null)
        return owner === null ? 'no member is to own it' : `${owner} has still to give it back`;
      return owner === null
        ? `${next} has still to take it`
        : `${owner} has still to give it back to ${next}`;
    }
  });
  return {
    shards,
    members: [...members.values()].map(({ node, id, weight, data }) => {
      const { draining = false, refused = [] } = reports.get(node) ?? {};
      const own = owned.get(node) ?? [];
      return {
        ...{ id, weight, ...(data !== undefined && { data }) },
        ...{ owned: own.length, shards: own, draining, refused },
      };
    }),
  };
}
