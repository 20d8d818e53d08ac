import { childPath } from '../../platform/zookeeper-paths.js';
import type { Session } from '../../session/session.js';
import { EXIT, UserError } from '../process/exit-codes.js';
import { durationText, printable, printError } from '../process/output.js';
import { decide, type ElectionNodes, kindOfChild, lastingKindOf } from './removable.js';
import type { PruneSearch, PruneTarget, Where } from './removal.js';
import { childrenOf, type ReadFamily, readFamily, readNode, type Visit, type Walk, walk } from './walk.js';

/**
 * The elections that may be removed. Prints which others are kept, unless they are in use, and which nodes it may not read.
 * @param olderThanMs - elections that were changed later are kept, in milliseconds
 * @throws UserError if the one that the user has named is no election, or is kept; or what ended the session
 */
export async function prunableElections(
  session: Session,
  where: Where,
  olderThanMs: number,
): Promise<PruneSearch> {
  const found = await read(session, where);
  const nowMs = session.clock.date().getTime();
  const removable: PruneTarget[] = [];
  let inUse = 0;
  for (const nodes of found) {
    const decision = decide(nodes, { nowMs, olderThanMs });
    const { path } = nodes.election;
    if (decision.kind === 'removable') {
      const { term, changedAtMs, waitMs, parts } = decision;
      const description = `term ${term}  changed ${durationText(Math.max(0, nowMs - changedAtMs))} ago`;
      removable.push({ path, description, waitMs, parts });
    } else if ('path' in where)
      throw new UserError(EXIT.notInTime, `${printable(path)} is kept: ${printable(decision.reason)}`);
    else if (decision.why === 'candidates') inUse++;
    else printError(`${printable(path)} is kept: ${printable(decision.reason)}`);
  }
  return { removable, inUse };
}

async function read(session: Session, where: Where): Promise<readonly ElectionNodes[]> {
  if ('root' in where) {
    const { found, unreadable } = await findElections(session, where.root);
    for (const path of unreadable) printError(`${printable(path)} can't be read: no permission`);
    return found;
  }
  const nodes = await readElection(session, where.path);
  if (nodes === undefined)
    throw new UserError(EXIT.usage, `${printable(where.path)} is not an election that was ever led`);
  return [nodes];
}

/**
 * Finds the elections at `root` and below it. It leaves out the elections in which groups of shards elect their planners: they belong to
 * their group.
 * @throws as {@link walk} does
 */
export async function findElections(session: Session, root: string): Promise<Walk<ElectionNodes>> {
  return await walk(session, root, (family) => visit(session, family));
}

/** The election at that path; `undefined` if there is none. @throws the error that ended the session, or a server's refusal */
export async function readElection(session: Session, path: string): Promise<ElectionNodes | undefined> {
  const family = await readFamily(session, path);
  return family !== undefined && lastingKindOf(family.node, family.children) === 'election'
    ? await readParts(session, family)
    : undefined;
}

async function visit(session: Session, family: ReadFamily): Promise<Visit<ElectionNodes>> {
  const { node, children } = family;
  const kind = lastingKindOf(node, children);
  if (kind === 'group') return { found: undefined, further: [] };
  if (kind !== 'election')
    return { found: undefined, further: children.filter((name) => kindOfChild(name) !== 'candidate') };
  return {
    found: await readParts(session, family),
    further: children.filter((name) => kindOfChild(name) === 'other'),
  };
}

async function readParts(session: Session, { node, children }: ReadFamily): Promise<ElectionNodes> {
  const of = (kind: string) => children.filter((name) => kindOfChild(name) === kind);
  const readAll = async (parent: string, names: readonly string[]) => {
    const nodes = await Promise.all(names.map((name) => readNode(session, childPath(parent, name))));
    return nodes.filter((each) => each !== undefined);
  };
  const seats = await readAll(node.path, of('seat'));
  const [parent] = await readAll(node.path, of('run-log'));
  if (parent === undefined) return { election: node, children, seats, runLog: undefined };
  const names = (await childrenOf(session, parent)) ?? [];
  return { election: node, children, seats, runLog: { parent, tasks: await readAll(parent.path, names) } };
}
