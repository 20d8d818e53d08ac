import type { ReadRecord } from '../election/record/record.js';
import { NoNodeError, type ZooKeeperError } from '../errors.js';
import type { Abortable } from '../platform/async/lazy-abort.js';
import type { Session } from '../session/session.js';
import { readRecords } from './ownership/shard-records.js';
import { type GroupPaths, idOfNodeName } from './stored/paths.js';
import type { ShardList } from './stored/shard-list.js';

export type HeldRecord = Extract<ReadRecord, { readonly state: 'held' }>;

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
  const listing = session.retryUntilAnswered(() => session.getChildren(paths.records), signal);
  const names = await listing.catch((error: unknown) => {
    if (error instanceof NoNodeError) return [];
    throw error;
  });
  const ids = names.flatMap((name) => idOfNodeName(name) ?? []);
  const removed = ids.filter((id) => list.numberOf(id) === undefined);
  const seen = await readRecords(session, paths, removed, signal, onRefused);
  return seen.flatMap(({ shard, record }) => (record.state === 'held' ? [{ shard, record }] : []));
}
