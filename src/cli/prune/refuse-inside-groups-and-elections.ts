import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { Session } from '../../session/session.js';
import { EXIT, UserError } from '../process/exit-codes.js';
import { lastingKindOf } from './prunable-elections.js';
import { readFamily } from './walk-tree.js';

const NOTHING_OF_GROUPS = 'prune removes nothing that belongs to a group';
const REASONS = {
  group: `a group of shards: ${NOTHING_OF_GROUPS}`,
  election: 'an election: prune removes nothing of an election',
};

/**
 * The record of a shard looks like that of an election, so only the nodes above it tell the two apart. A record that was deleted and made
 * again would have versions again that were fences before. A node that an election keeps below it may have no data, as the path of a lock.
 * @param session - has no chroot, which would hide a group above
 * @param path - as the servers know it
 * @throws UserError if the path is below a node of one of these kinds, or may be, since this client may not read a node above it
 */
export async function refuseBelow(
  session: Session,
  path: string,
  kinds: readonly (keyof typeof REASONS)[],
): Promise<void> {
  for (const above of nodesAbove(path)) {
    const family = await readFamily(session, above).catch((error: unknown) => {
      if (!isNoAuth(error)) throw error;
      const why = `it may be a group of shards, and ${NOTHING_OF_GROUPS}`;
      throw new UserError(EXIT.refused, `${above} can't be read: ${why}`, { cause: error });
    });
    const kind = family && lastingKindOf(family);
    const refused = kinds.find((each) => each === kind);
    if (refused !== undefined)
      throw new UserError(EXIT.usage, `${path} is below ${above}, ${REASONS[refused]}`);
  }
}

/** From the top, without the root, which is neither. */
function nodesAbove(path: string): string[] {
  const names = path.split('/').slice(1, -1);
  return names.map((_, at) => `/${names.slice(0, at + 1).join('/')}`);
}
