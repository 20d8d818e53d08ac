import { byPath, childPath } from '../../platform/zookeeper-paths.js';
import type { Session } from '../../session/session.js';
import { durationText } from '../process/output.js';
import { type ElectionNodes, kindOfChild, lastingKindOf, pruneDecisionOf } from './removable.js';
import type { Kept, KeptPath, PruneSearch, PruneTarget } from './removal.js';
import { childrenOf, type NodeVisit, type ReadFamily, readNode, walk } from './walk.js';

/**
 * The elections at `root` and below it that may be removed. It leaves out the elections in which groups of shards elect their planners: they
 * belong to their group.
 * @param olderThanMs - elections that were changed later are kept, in milliseconds
 * @throws as {@link walk} does
 */
export async function prunableElections(
  session: Session,
  root: string,
  olderThanMs: number,
): Promise<PruneSearch> {
  const foreign: KeptPath[] = [];
  const { found, unreadable } = await walk(session, root, async (family) => {
    const { path } = family.node;
    if (path === root || !isForeign(family)) return await visit(session, family);
    foreign.push({ path, ...FOREIGN });
    return { found: undefined, further: [] };
  });
  const nowMs = session.clock.date().getTime();
  const removable: PruneTarget[] = [];
  const kept = foreign.sort(byPath);
  for (const nodes of found) {
    const { path } = nodes.election;
    const decision = pruneDecisionOf(nodes, { nowMs, olderThanMs, isNamed: path === root });
    if (decision.kind === 'kept') {
      kept.push({ path, ...decision });
      continue;
    }
    const { term, changedAtMs, waitMs, parts, isFolder } = decision;
    const description = `term ${term}  changed ${durationText(Math.max(0, nowMs - changedAtMs))} ago${isFolder ? '  stays, as a folder' : ''}`;
    removable.push({ path, description, waitMs, parts });
  }
  return { removable, kept, unreadable };
}

const FOREIGN: Kept = {
  kind: 'kept',
  why: 'other',
  reason: 'it has data that Conclave has not written. Name a path below it to remove elections there',
};

/** Data that this release can't read may be a newer release's, whose nodes look like elections. */
function isForeign({ node, children }: ReadFamily): boolean {
  return node.data.length > 0 && children.length > 0 && lastingKindOf(node, children) === 'other';
}

async function visit(session: Session, family: ReadFamily): Promise<NodeVisit<ElectionNodes>> {
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
  const readAll = async (parent: string, names: readonly string[]) => {
    const nodes = await Promise.all(names.map((name) => readNode(session, childPath(parent, name))));
    return nodes.filter((each) => each !== undefined);
  };
  const runLog = children.filter((name) => kindOfChild(name) === 'run-log');
  const [parent] = await readAll(node.path, runLog);
  if (parent === undefined) return { election: node, children, runLog: undefined };
  const names = (await childrenOf(session, parent)) ?? [];
  return { election: node, children, runLog: { parent, tasks: await readAll(parent.path, names) } };
}
