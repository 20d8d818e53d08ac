import { BadVersionError, ShardsMismatchError } from '../errors.js';
import type { Abortable } from '../platform/async/lazy-abort.js';
import { abortable } from '../platform/async/promises.js';
import { isUnanswered } from '../session/operations.js';
import type { Session } from '../session/session.js';
import type { GroupPaths } from './nodes/group-paths.js';
import { ShardList } from './nodes/shard-list.js';
import { createRecords } from './ownership/shard-records.js';

/**
 * Makes what is missing of the group.
 * @throws ShardsMismatchError if it has other shards; what ended the session; the signal's reason; or a server's refusal
 */
export async function prepareGroup(
  session: Session,
  paths: GroupPaths,
  shards: ShardList,
  signal: Abortable,
): Promise<void> {
  await session.whenConnected(signal);
  for (const path of [paths.members, paths.records, paths.plans, paths.tombstones])
    await abortable(session.ensurePath(path), signal);
  for (;;) {
    const { data, stat } = await session.retryUntilAnswered(() => session.getData(paths.group), signal);
    if (data.length > 0) {
      const found = ShardList.parse(data);
      if (found?.equals(shards)) break;
      throw new ShardsMismatchError(paths.group, shards.toString(), found?.toString() ?? 'something else');
    }
    // Once the group says which shards there are, there is a record for each. One that is missing later was deleted by another client: made anew, it
    // would have versions again that were fences before.
    await createRecords(session, paths, shards.ids, signal);
    try {
      await session.setData(paths.group, shards.serialize(), stat.version);
    } catch (error) {
      if (!(error instanceof BadVersionError || isUnanswered(error))) throw error; // Else the next read shows what was written.
    }
  }
}
