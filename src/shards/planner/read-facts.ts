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
import type { SeenHome } from './kept-homes.js';

// Of the nodes that are read in one request. Each may have 200 KB of data or more, if shards have long names.
const MOST_READS = 32;

/** Where the facts are read. */
export interface FactsSource {
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
export interface Facts {
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
export async function readFacts(
  source: FactsSource,
  present: readonly SeenMember[],
  signal: Abortable,
  knowsTheGone = false,
): Promise<Facts> {
  const { session, paths } = source;
  const shards = source.shards();
  const { connectionNumber } = session;
  // A member that has a tombstone writes no record any more. So if no record names it now, none ever will. The reads that are sent behind
  // the listing show what was so after it.
  const listing = session.retryUntilAnswered(() => session.getChildren(paths.tombstones), signal);
  const reading = readNodes(source, shards, present, signal, !knowsTheGone);
  reading.catch(ignore); // It is awaited below, or read anew.
  const tombstones = await listing;
  // Over another connection the listing may have been repeated, and the records not.
  const isInOrder = connectionNumber !== undefined && session.connectionNumber === connectionNumber;
  const isEnough = isInOrder && (!knowsTheGone || tombstones.length === 0);
  const [seen, published, plans, reports, pins, homes] = await (isEnough
    ? reading
    : readNodes(source, shards, present, signal, true));
  // A member writes its home as it leaves. It may still be among those that were seen before.
  const left = new Set(homes.map(({ member }) => member));
  const there = present.filter(({ node }) => !left.has(uuidOf(node)));
  const members = new Map(oldestOfEachId(there).map((member) => [member.node, member]));
  for (const { node } of present) if (left.has(uuidOf(node))) plans.delete(node);
  const holders = holdersOf(seen?.flatMap(heldBy) ?? published ?? [], members);
  return { shards, members, tombstones, records: seen, holders, plans, reports, pins, homes };
}

/** @param readsRecords - these, or the members' publications in their place */
function readNodes(
  source: FactsSource,
  shards: GroupShards,
  present: readonly SeenMember[],
  signal: Abortable,
  readsRecords: boolean,
) {
  return Promise.all([
    readsRecords ? source.records.read(shards.list.ids, signal) : undefined,
    readsRecords ? undefined : readPublications(source, shards, present, signal),
    readPlans(source, shards, present, signal),
    readReports(source, shards, present, signal),
    readPins(source, signal),
    readHomes(source, shards, signal),
  ]);
}

async function readPlans(
  { session, paths }: FactsSource,
  shards: GroupShards,
  present: readonly SeenMember[],
  signal: Abortable,
): Promise<Map<string, ReadPlan>> {
  const read = await readOfEach(session, present, (node) => paths.planOf(node), signal);
  return new Map(
    read.map(([node, data]) => [node, { shards: parsePlan(data, shards)?.shards ?? [], data }] as const),
  );
}

/** What the members say that they own. */
async function readPublications(
  { session, paths }: FactsSource,
  { list }: GroupShards,
  present: readonly SeenMember[],
  signal: Abortable,
): Promise<Holding[]> {
  const read = await readOfEach(session, present, (node) => paths.ownedOf(node), signal);
  return read.flatMap(([node, data]) =>
    (parseOwned(data) ?? []).flatMap((number): Holding[] => {
      const shard = list.ids[number];
      return shard === undefined ? [] : [[shard, node]];
    }),
  );
}

/** One listing, and a read for each of the few that have something to say. */
async function readReports(
  source: FactsSource,
  shards: GroupShards,
  present: readonly SeenMember[],
  signal: Abortable,
): Promise<Map<string, MemberReport>> {
  const { paths } = source;
  const names = new Set(await listOptional(source, paths.reports, signal));
  const reporting = present.filter(({ node }) => names.has(uuidOf(node)));
  const read = reporting.map(async ({ node }): Promise<[string, MemberReport][]> => {
    const found = await readOptional(source, paths.reportOf(node), signal);
    const report = found && parseReport(found.data, shards);
    return report === undefined ? [] : [[node, report]];
  });
  return new Map((await Promise.all(read)).flat());
}

async function readPins(source: FactsSource, signal: Abortable): Promise<Pins> {
  const { paths, onError } = source;
  const found = await readOptional(source, paths.pins, signal);
  const pins = found === undefined ? new Map() : parsePins(found.data);
  if (pins === undefined) onError(new Error(`${paths.pins} holds no pins: another client has written it`));
  const hasMoves = found !== undefined && found.stat.numChildren > 0;
  return new Map([...(hasMoves ? await readMoves(source, signal) : []), ...(pins ?? [])]);
}

/** The pins of moves that are under way. Each is in a node of the session that moves, and ends with it. */
async function readMoves(source: FactsSource, signal: Abortable): Promise<[shard: string, member: string][]> {
  const { paths } = source;
  const names = await listOptional(source, paths.pins, signal);
  const read = names.map((name) => readOptional(source, `${paths.pins}/${name}`, signal));
  return (await Promise.all(read)).flatMap((node) => [...((node && parsePins(node.data)) ?? [])]);
}

async function readHomes(source: FactsSource, shards: GroupShards, signal: Abortable): Promise<SeenHome[]> {
  const { paths } = source;
  const names = await listOptional(source, paths.homes, signal);
  const read = names.map(async (name): Promise<SeenHome[]> => {
    const path = `${paths.homes}/${name}`;
    const found = await readOptional(source, path, signal);
    if (found === undefined) return [];
    const home = parseHome(found.data, shards);
    if (home === undefined || name !== nodeNameOf(home.id)) return []; // Two homes of one id would be two members.
    const { version, mzxid } = found.stat;
    return [{ ...home, path, version, mzxid }];
  });
  return (await Promise.all(read)).flat();
}

/** For each member, its own node and the data of another node of it. Those whose other node isn't there are left out. */
async function readOfEach(
  session: Session,
  present: readonly SeenMember[],
  pathOf: (node: string) => string,
  signal: Abortable,
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

/** `undefined` if there is no such node. */
function readNode(session: Session, path: string, signal: Abortable): Promise<NodeData | undefined> {
  return ifThere(session.retryUntilAnswered(() => session.getData(path), signal));
}

/** As {@link readNode}. A node that the session may not read is reported, and counts as missing: planning goes on. */
async function readOptional(
  source: FactsSource,
  path: string,
  signal: Abortable,
): Promise<NodeData | undefined> {
  return await unlessForbidden(source, readNode(source.session, path, signal));
}

/** No names if there is no such node, or it may not be read. */
async function listOptional(source: FactsSource, path: string, signal: Abortable): Promise<string[]> {
  const { session } = source;
  const listing = session.retryUntilAnswered(() => session.getChildren(path), signal);
  const names = listing.catch((error: unknown) => {
    if (error instanceof NoNodeError) return [];
    throw error;
  });
  return (await unlessForbidden(source, names)) ?? [];
}

async function unlessForbidden<T>({ onError }: FactsSource, reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (!isNoAuth(error)) throw error;
    onError(error);
    return undefined;
  }
}

/** A shard, and the node of the member that owns it. */
type Holding = readonly [shard: string, node: string];

function heldBy({ shard, value }: SeenShard): Holding[] {
  return value.state === 'held' ? [[shard, value.node]] : [];
}

function holdersOf(
  holdings: readonly Holding[],
  members: ReadonlyMap<string, SeenMember>,
): Map<string, string> {
  return new Map(holdings.filter(([, node]) => members.has(node)));
}

/** By shard, the id of the member that owns it; else of the one that was to have it. */
export function ownersOf({ plans, members, holders }: Facts): Map<string, string> {
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
