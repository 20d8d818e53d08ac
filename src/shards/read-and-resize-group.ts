import type { HeldRecord } from '../election/record/election-record.js';
import { InvalidStateError, ShardsMismatchError, type ZooKeeperError } from '../errors.js';
import { takeoverDelayMs } from '../lease/failure-detector.js';
import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import { abortable } from '../platform/async/promises.js';
import { sleep } from '../platform/time/clock.js';
import { ifThere } from '../session/operations.js';
import type { Session } from '../session/session.js';
import { type Content, update } from '../session/versioned-records.js';
import { createRecords, readRecords } from './ownership/shard-records.js';
import { type GroupPaths, idOfNodeName } from './stored/group-paths.js';
import { type GroupShards, ShardList } from './stored/shard-list.js';

/**
 * Which shards a group has.
 * @throws InvalidStateError if there is no such group; what ended the session; the signal's reason; or a server's refusal
 */
export async function readGroup(
  session: Session,
  { group }: GroupPaths,
  signal?: Abortable,
): Promise<GroupShards> {
  const node = await ifThere(session.retryUntilAnswered(() => session.getData(group), signal));
  return groupIn(group, node && { data: node.data, version: node.stat.version });
}

function groupIn(group: string, node: Content | undefined): GroupShards {
  if (node === undefined || node.data.length === 0)
    throw new InvalidStateError(
      `${group} is not a group of shards: the first member creates the group when you start it with the number or names of the shards`,
    );
  const list = ShardList.parse(node.data);
  if (list === undefined)
    throw new InvalidStateError(`${group} does not say which shards it has: another client has written it`);
  return { list, version: node.version };
}

/**
 * Makes what is missing of the group.
 * @param given - its shards; `undefined`: those that it has
 * @returns the shards that it has. They are others than the given ones if it had those before
 * @throws ShardsMismatchError if it has other shards, and had the given ones at no time; InvalidStateError if none are given, and there is
 *   no such group; what ended the session; the signal's reason; or a server's refusal
 */
export async function prepareGroup(
  session: Session,
  paths: GroupPaths,
  given: ShardList | undefined,
  signal: Abortable,
): Promise<GroupShards> {
  await session.whenConnected(signal);
  if (given === undefined) await readGroup(session, paths, signal); // Before anything is made.
  await abortable(session.ensurePath(paths.members), signal);
  const { records, plans, owned, tombstones, reports, pins, homes } = paths;
  const others = [records, plans, owned, tombstones, reports, pins, homes];
  await abortable(Promise.all(others.map((path) => session.ensurePath(path))), signal);
  if (given === undefined) return await readGroup(session, paths, signal);
  const make = async (found: Content | undefined) => {
    if (found !== undefined && found.data.length > 0) return undefined;
    // Once the group says which shards there are, there is a record for each. One that is missing later was deleted by another client: made
    // anew, it would have versions again that were fences before.
    await createRecords(session, paths, given.ids, signal);
    return given.serialize();
  };
  return accepted(session, paths, given, (await update(session, paths.group, make, signal)) as Content);
}

/** The group's shards, if a member may be started with the given ones. @throws ShardsMismatchError */
function accepted(
  { logger }: Session,
  { group }: GroupPaths,
  given: ShardList,
  { data, version }: Content,
): GroupShards {
  const list = ShardList.parse(data);
  if (list?.equals(given)) return { list, version };
  const words = given.toString();
  if (!list?.had(given)) throw new ShardsMismatchError(group, words, list?.toString() ?? 'something else');
  const details = { group, given: words, found: list.toString() };
  logger.warn(
    details,
    'a member was started with the shards that its group had before: its option is out of date',
  );
  return { list, version };
}

/** A shard that the group has no more, and whose record names a member all the same. */
export interface RemovedShard {
  readonly shard: string;
  readonly record: HeldRecord;
}

/**
 * The shards that the group has no more, and that weren't given back. Their records stay when the group gets fewer shards. The member that
 * a record names may be gone: no other member claims the shard.
 * @param list - the shards that the group has
 * @param onRefused - as for {@link readRecords}: such a record is left out, and may name a member
 * @throws the signal's reason, what ended the session, or a server's refusal
 */
export async function readRemoved(
  session: Session,
  paths: GroupPaths,
  list: ShardList,
  signal?: Abortable,
  onRefused?: (refusal: ZooKeeperError) => void,
): Promise<RemovedShard[]> {
  const names = await ifThere(session.retryUntilAnswered(() => session.getChildren(paths.records), signal));
  const ids = (names ?? []).flatMap((name) => idOfNodeName(name) ?? []);
  const removed = ids.filter((id) => list.numberOf(id) === undefined);
  const seen = await readRecords(session, paths, removed, signal, onRefused);
  return seen.flatMap(({ shard, value }) => (value.state === 'held' ? [{ shard, record: value }] : []));
}

/**
 * Gives a group other shards, while its members work. They follow at once: new shards are shared out, and those that go are given back when
 * their work has settled. A shard that stays keeps its owner, which hears of nothing, unless the shares change. Members that are started
 * with the former shards are accepted, and follow the group's; of the lists that a group had, it remembers 16.
 *
 * It doesn't move the data of keys: with another number most keys are in other shards, see `shardOf`.
 * @param shards - their number, or their names
 * @returns the shards that the group has now
 * @throws InvalidOptionError if the shards are wrong, or are a number where the group has names, or names where it has a number;
 *   InvalidStateError if there is no such group; what ended the session; or a server's refusal
 */
export async function resizeGroup(
  session: Session,
  paths: GroupPaths,
  shards: number | readonly string[],
): Promise<GroupShards> {
  const next = ShardList.of(shards);
  const { group } = paths;
  const change = async (found: Content | undefined) => {
    const { list } = groupIn(group, found);
    if (list.equals(next)) return undefined;
    const changed = list.changedTo(next);
    // Only of those that are new. A record that is missing of a shard that the group has was deleted by another client: made anew, it would
    // have versions again that were fences before. For the same reason the records of those that go stay.
    const isNew = (shard: string) => list.numberOf(shard) === undefined;
    await createRecords(session, paths, next.ids.filter(isNew));
    return changed.serialize();
  };
  return groupIn(group, await update(session, group, change));
}

const LOOK_EVERY_MS = 100;

/** A record that can't be read may name a member. */
function refused(refusal: ZooKeeperError): never {
  throw refusal;
}

/**
 * Resolves when no member acts for a shard that the group has no more, also for those of an earlier change. A member that is gone may act
 * until a takeover delay after this has first seen that it is gone.
 * @throws InvalidStateError if there is no such group; the signal's reason; what ended the session; or a server's refusal, also to show
 *   the record of one such shard
 */
export async function untilGivenBack(session: Session, paths: GroupPaths, signal: Abortable): Promise<void> {
  const { clock } = session;
  const goneSince = new Map<string, number>();
  const mayAct = ({ node, leaseMs }: HeldRecord, present: ReadonlySet<string>) => {
    if (present.has(node)) return true;
    const since = goneSince.get(node) ?? clock.now();
    goneSince.set(node, since);
    return clock.now() - since < takeoverDelayMs(leaseMs);
  };
  for (;;) {
    const { list } = await readGroup(session, paths, signal);
    const removed = await readRemoved(session, paths, list, signal, refused);
    if (removed.length === 0) return;
    // After the records: a member that one names has joined before.
    const listing = session.retryUntilAnswered(() => session.getChildren(paths.members), signal);
    const present = new Set(await listing);
    if (!removed.some(({ record }) => mayAct(record, present))) return;
    await sleep(clock, LOOK_EVERY_MS, signal);
  }
}
