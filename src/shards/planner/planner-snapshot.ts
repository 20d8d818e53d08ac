import { NoNodeError, ZooKeeperError } from '../../errors.js';
import type { Abortable } from '../../platform/async/lazy-abort-controller.js';
import { ignore } from '../../platform/async/promises.js';
import { inBatches } from '../../platform/collections/lists-and-sets.js';
import { compareEntries, parseEntry, type QueueEntry } from '../../queue/names-and-order.js';
import { ifThere } from '../../session/operations.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { NodeData } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import type { SeenMember } from '../members/member-watch.js';
import type { SeenShard, ShardRecords } from '../ownership/shard-records.js';
import {
  type MemberReport,
  type Pins,
  parseHome,
  parseOwned,
  parsePins,
  parsePlan,
  parseReport,
} from '../stored/data-formats.js';
import { type GroupPaths, nodeNameOf, uuidOf } from '../stored/group-paths.js';
import type { GroupShards } from '../stored/shard-list.js';
import type { SeenHome } from './absent-member-homes.js';

// Of the nodes that are read in one request. Each may have 200 KB of data or more, if shards have long names.
const MOST_READS = 32;

/** Where a snapshot is read. */
export interface SnapshotSource {
  readonly session: Session;
  readonly paths: GroupPaths;
  /** As far as they are known. */
  shards(): GroupShards;
  readonly records: Pick<ShardRecords, 'read'>;
  /** A node that a plan can do without can't be read. */
  onError(error: unknown): void;
}

/** A member's plan as it was read. */
export interface ReadPlan {
  /** `unknown`: it is for another list of names. */
  readonly shards: readonly string[] | 'unknown';
  readonly data: Buffer;
}

/** All that a plan is made from, as it was read. Members are named by their nodes. */
export interface PlannerSnapshot {
  readonly shards: GroupShards;
  /** Those that shards can be planned for: of two live members with one id the older one. None that has left, and whose home shows it. */
  readonly members: ReadonlyMap<string, SeenMember>;
  /** The names of all tombstones. They were listed before the records were read. */
  readonly tombstones: readonly string[];
  /** `undefined`: they weren't read, and the members' publications were in their place. */
  readonly records: readonly SeenShard[] | undefined;
  /** The live members that own shards: by shard, the member's node. */
  readonly holders: ReadonlyMap<string, string>;
  /** Of all live members. */
  readonly plans: ReadonlyMap<string, ReadPlan>;
  /** Of those that have something to say. */
  readonly reports: ReadonlyMap<string, MemberReport>;
  readonly pins: Pins;
  readonly homes: readonly SeenHome[];
}

/**
 * @param knowsTheGone - records are known to name no member but these. Then a few publications say the same as thousands of records: who
 *   owns what. They may be a moment behind, like records that were read a moment ago. If there are tombstones, the records are read all the
 *   same
 * @throws what a server refuses, the signal's reason, or what ended the session
 */
export async function readPlannerSnapshot(
  source: SnapshotSource,
  present: readonly SeenMember[],
  signal: Abortable,
  knowsTheGone = false,
): Promise<PlannerSnapshot> {
  const { session, paths } = source;
  const shards = source.shards();
  const { connectionNumber } = session;
  const read = { ...source, known: shards, present, signal };
  // A member that has a tombstone writes no record any more. So if no record names it now, none ever will. The reads that are sent behind
  // the listing show what was so after it.
  const listing = session.retryUntilAnswered(() => session.getChildren(paths.tombstones), signal);
  const reading = readNodes(read, !knowsTheGone);
  reading.catch(ignore); // It is awaited below, or read anew.
  const tombstones = await listing;
  // Over another connection the listing may have been repeated, and the records not.
  const isInOrder = connectionNumber !== undefined && session.connectionNumber === connectionNumber;
  const isEnough = isInOrder && (!knowsTheGone || tombstones.length === 0);
  const [seen, published, plans, reports, pins, homes] = await (isEnough ? reading : readNodes(read, true));
  // A member writes its home as it leaves. It may still be among those that were seen before.
  const left = new Set(homes.map(({ member }) => member));
  const there = present.filter(({ node }) => !left.has(uuidOf(node)));
  const members = new Map(oldestOfEachId(there).map((member) => [member.node, member]));
  for (const { node } of present) if (left.has(uuidOf(node))) plans.delete(node);
  const holdings = seen?.flatMap(heldBy) ?? published ?? [];
  const holders = new Map(holdings.filter(([, node]) => members.has(node)));
  return { shards, members, tombstones, records: seen, holders, plans, reports, pins, homes };
}

/** What one read of a snapshot needs. */
interface SnapshotRead extends SnapshotSource {
  readonly known: GroupShards;
  readonly present: readonly SeenMember[];
  readonly signal: Abortable;
}

/** @param readsRecords - these, or the members' publications in their place */
function readNodes(read: SnapshotRead, readsRecords: boolean) {
  return Promise.all([
    readsRecords ? read.records.read(read.known.list.ids, read.signal) : undefined,
    readsRecords ? undefined : readPublications(read),
    readPlans(read),
    readReports(read),
    readPins(read),
    readHomes(read),
  ]);
}

async function readPlans(read: SnapshotRead): Promise<Map<string, ReadPlan>> {
  const plans = await readOfEach(read, (node) => read.paths.planOf(node));
  return new Map(
    plans.map(([node, data]) => [node, { shards: parsePlan(data, read.known)?.shards ?? [], data }] as const),
  );
}

/** A shard, and the node of the member that owns it. */
type Holding = readonly [shard: string, node: string];

/** What the members say that they own. */
async function readPublications(read: SnapshotRead): Promise<Holding[]> {
  const { ids } = read.known.list;
  const publications = await readOfEach(read, (node) => read.paths.ownedOf(node));
  return publications.flatMap(([node, data]) =>
    (parseOwned(data) ?? []).flatMap((number): Holding[] => {
      const shard = ids[number];
      return shard === undefined ? [] : [[shard, node]];
    }),
  );
}

/** One listing, and a read for each of the few that have something to say. */
async function readReports(read: SnapshotRead): Promise<Map<string, MemberReport>> {
  const { paths, known, present } = read;
  const names = new Set(await listOptional(read, paths.reports));
  const reporting = present.filter(({ node }) => names.has(uuidOf(node)));
  const reports = reporting.map(async ({ node }): Promise<[string, MemberReport][]> => {
    const found = await readOptional(read, paths.reportOf(node));
    const report = found && parseReport(found.data, known);
    return report === undefined ? [] : [[node, report]];
  });
  return new Map((await Promise.all(reports)).flat());
}

async function readPins(read: SnapshotRead): Promise<Pins> {
  const { paths, onError } = read;
  const found = await readOptional(read, paths.pins);
  const pins = found === undefined ? new Map() : parsePins(found.data);
  if (pins === undefined) onError(new Error(`${paths.pins} holds no pins: another client has written it`));
  const hasMoves = found !== undefined && found.stat.numChildren > 0;
  return new Map([...(hasMoves ? await readMoves(read) : []), ...(pins ?? [])]);
}

/** The pins of moves that are under way. Each is in a node of the session that moves, and ends with it. */
async function readMoves(read: SnapshotRead): Promise<[shard: string, member: string][]> {
  const { pins } = read.paths;
  const names = await listOptional(read, pins);
  const moves = await Promise.all(names.map((name) => readOptional(read, `${pins}/${name}`)));
  return moves.flatMap((node) => [...((node && parsePins(node.data)) ?? [])]);
}

async function readHomes(read: SnapshotRead): Promise<SeenHome[]> {
  const { paths, known } = read;
  const homes = (await listOptional(read, paths.homes)).map(async (name): Promise<SeenHome[]> => {
    const path = `${paths.homes}/${name}`;
    const found = await readOptional(read, path);
    if (found === undefined) return [];
    const home = parseHome(found.data, known);
    if (home === undefined || name !== nodeNameOf(home.id)) return []; // Two homes of one id would be two members.
    const { version, mzxid } = found.stat;
    return [{ ...home, path, version, mzxid }];
  });
  return (await Promise.all(homes)).flat();
}

/** For each member, its own node and the data of another node of it. Those whose other node isn't there are left out. */
async function readOfEach(
  { session, present, signal }: SnapshotRead,
  pathOf: (node: string) => string,
): Promise<[string, Buffer][]> {
  const read = inBatches(present, MOST_READS).map(async (batch) => {
    const paths = batch.map(({ node }) => pathOf(node));
    const found = await session.retryUntilAnswered(() => session.getDataOfEach(paths), signal);
    return found.flatMap((other, at): [string, Buffer][] => {
      if (!(other instanceof ZooKeeperError)) return [[(batch[at] as SeenMember).node, other.data]];
      if (other instanceof NoNodeError) return [];
      throw other;
    });
  });
  return (await Promise.all(read)).flat();
}

function readOptional(read: SnapshotRead, path: string): Promise<NodeData | undefined> {
  return ifReadable(read, () => read.session.getData(path));
}

async function listOptional(read: SnapshotRead, path: string): Promise<string[]> {
  return (await ifReadable(read, () => read.session.getChildren(path))) ?? [];
}

/** `undefined` if there is no such node, or the session may not read it: that is reported, and planning goes on. */
async function ifReadable<T>(
  { session, signal, onError }: SnapshotRead,
  operation: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await ifThere(session.retryUntilAnswered(operation, signal));
  } catch (error) {
    if (!isNoAuth(error)) throw error;
    onError(error);
    return undefined;
  }
}

function heldBy({ shard, value }: SeenShard): Holding[] {
  return value.state === 'held' ? [[shard, value.node]] : [];
}

/** By shard, the id of the member that owns it; else of the one that was to have it. */
export function ownersOf({ plans, members, holders }: PlannerSnapshot): Map<string, string> {
  const owners = new Map<string, string>();
  for (const [node, { shards }] of plans) {
    const id = members.get(node)?.id;
    if (id !== undefined && shards !== 'unknown') for (const shard of shards) owners.set(shard, id);
  }
  for (const [shard, node] of holders) owners.set(shard, (members.get(node) as SeenMember).id);
  return owners;
}

/** Of two live members with one id the older one is the member. */
function oldestOfEachId(members: readonly SeenMember[]): SeenMember[] {
  const byId = new Map<string, SeenMember>();
  const entryOf = ({ node }: SeenMember) => parseEntry(node) as QueueEntry;
  const inOrder = [...members].sort((one, other) => compareEntries(entryOf(one), entryOf(other)));
  for (const member of inOrder) if (!byId.has(member.id)) byId.set(member.id, member);
  return [...byId.values()];
}
