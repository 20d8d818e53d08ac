import { childPath } from '../../platform/paths.js';
import type { Session } from '../../session/session.js';
import { type ElectionNodes, kindOfChild, lastingKindOf } from './election-nodes.js';
import { childrenOf, type ReadFamily, readFamily, readNode, type Visit, type Walk, walk } from './walk.js';

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
