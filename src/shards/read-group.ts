import { InvalidStateError, NoNodeError } from '../errors.js';
import type { Abortable } from '../platform/async/lazy-abort.js';
import type { Session } from '../session/session.js';
import type { GroupPaths } from './stored/paths.js';
import type { GroupShards } from './stored/shard-list.js';
import { ShardList } from './stored/shard-list.js';

/**
 * Which shards a group has.
 * @throws InvalidStateError if there is no such group; what ended the session; the signal's reason; or a server's refusal
 */
export async function readGroup(
  session: Session,
  { group }: GroupPaths,
  signal?: Abortable,
): Promise<GroupShards> {
  const { data, stat } = await session
    .retryUntilAnswered(() => session.getData(group), signal)
    .catch((error: unknown) => {
      if (error instanceof NoNodeError) throw noGroup(group);
      throw error;
    });
  if (data.length === 0) throw noGroup(group);
  const list = ShardList.parse(data);
  if (list === undefined)
    throw new InvalidStateError(`${group} does not say which shards it has: another client has written it`);
  return { list, version: stat.version };
}

function noGroup(path: string): InvalidStateError {
  return new InvalidStateError(
    `${path} is not a group of shards: the first member creates the group when you start it with the number or names of the shards`,
  );
}
