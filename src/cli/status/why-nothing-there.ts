import { kindOf } from '../../overview/model/node-kind.js';
import { nearestName } from '../../platform/checks.js';
import { childPath } from '../../platform/zookeeper-paths.js';
import { ifThere } from '../../session/operations.js';
import type { Session } from '../../session/session.js';

/**
 * In words, why no election is at a path, and what was probably meant. `undefined` if one is there.
 * @throws what ended the session, or a server's refusal
 */
export async function whyNoElection(session: Session, path: string): Promise<string | undefined> {
  const found = await lookAt(session, path);
  if (found === undefined) return await whyNothing(session, path);
  const { kind: name, data, names } = found;
  if (name === 'election') return undefined;
  if (name === 'group') return `${path} is a group of shards: see conclave shards --help`;
  if (name !== 'other') return `${path} is a ${KINDS[name]}, and no election`;
  if (names.length > 0)
    return `${path} is no election, and has other nodes below it: conclave status --root ${path} shows what they are`;
  return data.length > 0 ? `${path} is no election: it has other data` : undefined; // No candidate has ever led, perhaps.
}

const KINDS = { lock: 'lock', 'read-write': 'read-write lock', semaphore: 'semaphore' } as const;

/** In words, that nothing is at a path, and what was probably meant. @throws as {@link whyNoElection} */
export async function whyNothing(session: Session, path: string): Promise<string> {
  const slash = path.lastIndexOf('/');
  const parent = path.slice(0, slash) || '/';
  const meant = nearestName(path.slice(slash + 1), (await namesBelow(session, parent)) ?? []);
  return `there is nothing at ${path}${meant === undefined ? '' : `: did you mean ${childPath(parent, meant)}?`}`;
}

/** What is at a path. `undefined`: there is no such node. */
export async function lookAt(session: Session, path: string) {
  const node = await ifThere(session.retryUntilAnswered(() => session.getData(path)));
  const names = node && (await namesBelow(session, path));
  if (node === undefined || names === undefined) return undefined;
  const { data, stat } = node;
  return { kind: kindOf({ data, version: stat.version, names }).name, data, names };
}

/** `undefined`: there is no such node. */
function namesBelow(session: Session, path: string): Promise<string[] | undefined> {
  return ifThere(session.retryUntilAnswered(() => session.getChildren(path)));
}
