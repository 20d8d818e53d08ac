import { BadVersionError, ShardsMismatchError } from '../errors.js';
import type { Abortable } from '../platform/async/lazy-abort.js';
import { abortable } from '../platform/async/promises.js';
import { isUnanswered } from '../session/operations.js';
import type { Session } from '../session/session.js';
import { createRecords } from './ownership/shard-records.js';
import { readGroup } from './read-group.js';
import type { GroupPaths } from './stored/paths.js';
import type { GroupShards } from './stored/shard-list.js';
import { ShardList } from './stored/shard-list.js';

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
  for (;;) {
    const { data, stat } = await session.retryUntilAnswered(() => session.getData(paths.group), signal);
    if (data.length > 0) return accepted(session, paths, given, { data, version: stat.version });
    // Once the group says which shards there are, there is a record for each. One that is missing later was deleted by another client: made
    // anew, it would have versions again that were fences before.
    await createRecords(session, paths, given.ids, signal);
    try {
      await session.setData(paths.group, given.serialize(), stat.version);
    } catch (error) {
      if (!(error instanceof BadVersionError || isUnanswered(error))) throw error; // Else the next read shows what was written.
    }
  }
}

/** The group's shards, if a member may be started with the given ones. @throws ShardsMismatchError */
function accepted(
  { logger }: Session,
  { group }: GroupPaths,
  given: ShardList,
  { data, version }: { readonly data: Buffer; readonly version: number },
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
