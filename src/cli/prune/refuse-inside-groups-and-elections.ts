import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { Session } from '../../session/session.js';
import { ShardList } from '../../shards/stored/shard-names.js';
import { EXIT, UserError } from '../process/exit-codes.js';
import { printable } from '../process/output.js';
import { lastingKindOf } from './removable.js';
import { type ReadNode, readNode } from './walk.js';

/**
 * The record of a shard looks like that of an election, so only the nodes above it tell the two apart. A record that was deleted and made
 * again would have versions again that were fences before.
 * @param session - has no chroot, which would hide a group above
 * @param path - as the servers know it
 * @throws UserError if the path is below a group of shards, or may be, since this client may not read a node above it
 */
export async function refuseBelowGroup(session: Session, path: string): Promise<void> {
  for (const above of nodesAbove(path)) {
    const node = await readAbove(session, above);
    if (node === undefined || ShardList.parse(node.data) === undefined) continue;
    const why = `${printable(above)}, a group of shards: prune removes nothing that belongs to a group`;
    throw new UserError(EXIT.usage, `${printable(path)} is below ${why}`);
  }
}

/**
 * A node that an election keeps below it may have no data, as the path of a lock.
 * @param session - as for {@link refuseBelowGroup}
 * @throws UserError if the path is below an election, or may be, since this client may not read a node above it
 */
export async function refuseBelowElection(session: Session, path: string): Promise<void> {
  for (const above of nodesAbove(path)) {
    const node = await readAbove(session, above);
    // A record says by itself that it is one, without the children.
    if (node === undefined || lastingKindOf(node, []) !== 'election') continue;
    const why = `${printable(above)}, an election: prune removes nothing of an election`;
    throw new UserError(EXIT.usage, `${printable(path)} is below ${why}`);
  }
}

/** From the top, without the root, which is neither. */
function nodesAbove(path: string): string[] {
  const names = path.split('/').slice(1, -1);
  return names.map((_, at) => `/${names.slice(0, at + 1).join('/')}`);
}

/** `undefined` if there is no such node. */
async function readAbove(session: Session, path: string): Promise<ReadNode | undefined> {
  try {
    return await readNode(session, path);
  } catch (error) {
    if (!isNoAuth(error)) throw error;
    const why = 'it may be a group of shards, and prune removes nothing that belongs to a group';
    throw new UserError(EXIT.refused, `${printable(path)} can't be read: ${why}`, { cause: error });
  }
}
