import { nearestName } from '../../platform/checks.js';
import { childPath } from '../../platform/zookeeper-paths.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { Session } from '../../session/session.js';
import { kindOfFamily, readFamily } from '../prune/walk-tree.js';

/**
 * In words, why no election is at a path, and what was probably meant. `undefined` if one is there.
 * @throws what ended the session, or a server's refusal
 */
export async function whyNoElection(session: Session, path: string): Promise<string | undefined> {
  const family = await readFamily(session, path);
  if (family === undefined) return await whyNothing(session, path);
  const { name } = kindOfFamily(family);
  if (name === 'election') return undefined;
  if (name === 'group') return `${path} is a group of shards: see conclave shards --help`;
  if (name !== 'other') return `${path} is a ${KINDS[name]}, and no election`;
  if (family.children.length > 0)
    return `${path} is no election, and has other nodes below it: conclave status --root ${path} shows what they are`;
  return family.node.data.length > 0 ? `${path} is no election: it has other data` : undefined; // No candidate has ever led, perhaps.
}

const KINDS = { lock: 'lock', 'read-write': 'read-write lock', semaphore: 'semaphore' } as const;

/** In words, that nothing is at a path, and what was probably meant. @throws as {@link whyNoElection} */
export async function whyNothing(session: Session, path: string): Promise<string> {
  const slash = path.lastIndexOf('/');
  const parent = path.slice(0, slash) || '/';
  // To guess what was meant is no reason to fail: this client may be allowed to read below the parent only.
  const family = await readFamily(session, parent).catch((error: unknown) => {
    if (!isNoAuth(error)) throw error;
  });
  const meant = nearestName(path.slice(slash + 1), family?.children ?? []);
  return `there is nothing at ${path}${meant === undefined ? '' : `: did you mean ${childPath(parent, meant)}?`}`;
}
