import { NoNodeError } from '../../errors.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { Session } from '../../session/session.js';
import { ShardList } from '../../shards/nodes/shard-list.js';
import { EXIT } from '../process/exit-codes.js';
import { printable } from '../process/output.js';
import { UserError } from '../process/user-error.js';

/**
 * The record of a shard looks like that of an election, so only the nodes above it tell the two apart. A record that was deleted and made
 * again would have versions again that were fences before.
 * @param session - has no chroot, which would hide a group above
 * @param path - as the servers know it
 * @throws UserError if the path is below a group of shards, or may be, since this client may not read a node above it
 */
export async function refuseBelowGroup(session: Session, path: string): Promise<void> {
  for (const above of nodesAbove(path)) {
    const data = await dataOf(session, above);
    if (data === undefined || ShardList.parse(data) === undefined) continue;
    const why = `${printable(above)}, a group of shards: prune removes nothing that belongs to a group`;
    throw new UserError(EXIT.usage, `${printable(path)} is below ${why}`);
  }
}

/** From the top, without the root, which no group can be. */
function nodesAbove(path: string): string[] {
  const names = path.split('/').slice(1, -1);
  return names.map((_, at) => `/${names.slice(0, at + 1).join('/')}`);
}

/** `undefined` if there is no such node. */
async function dataOf(session: Session, path: string): Promise<Buffer | undefined> {
  try {
    return (await session.retryUntilAnswered(() => session.getData(path))).data;
  } catch (error) {
    if (error instanceof NoNodeError) return undefined;
    if (!isNoAuth(error)) throw error;
    const why = 'it may be a group of shards, and prune removes nothing that belongs to a group';
    throw new UserError(EXIT.refused, `${printable(path)} can't be read: ${why}`, { cause: error });
  }
}
