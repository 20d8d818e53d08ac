import { kindOf, type NodeKind } from '../../overview/model/node-kind.js';
import { byPath, childPath } from '../../platform/zookeeper-paths.js';
import { ifThere } from '../../session/operations.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { NodeData, TransactionPart } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';

const AT_ONCE = 64; // Nodes that are read at the same time.

/** A node that was read: its path, and its data with the stat. */
export interface VisitedNode extends NodeData {
  readonly path: string;
}

/** A node with the names of its children. */
export interface ReadFamily {
  readonly node: VisitedNode;
  readonly children: readonly string[];
}

export function kindOfFamily({ node: { data, stat }, children }: ReadFamily): NodeKind {
  return kindOf({ data, version: stat.version, names: children });
}

/** What prune does with an election, or with the path of a lock. */
export type PruneDecision =
  | {
      readonly kind: 'removable';
      /** What a person has to know of it, besides its path. */
      readonly description: string;
      /** How long to wait after it was read, in milliseconds. */
      readonly waitMs: number;
      /** Delete all of it, or, if it was written since it was read, nothing. */
      readonly parts: readonly TransactionPart[];
    }
  | {
      readonly kind: 'kept';
      /** `in-use`: it has candidates or contenders. */
      readonly why: 'in-use' | 'other';
      /** For people. */
      readonly reason: string;
    };

/** The decision to remove nothing. */
export function kept(reason: string, why: 'in-use' | 'other' = 'other'): PruneDecision {
  return { kind: 'kept', why, reason };
}

/** What a visit of a node shows. */
export interface NodeVisit {
  /** `undefined` if the node is none of those that are looked for. */
  readonly decision?: PruneDecision | undefined;
  /** The children with which to go on. */
  readonly further: readonly string[];
}

/** What a search has found. */
export interface PruneSearch {
  /** In the order of their paths. */
  readonly found: readonly (PruneDecision & { readonly path: string })[];
  /** The paths of nodes that the session may not read. */
  readonly unreadable: readonly string[];
}

/**
 * Visits the node at `root`, and each node to which a visit leads.
 * @throws the error that ended the session, or a server's refusal for another reason than permission
 */
export async function walk(
  session: Session,
  root: string,
  visit: (family: ReadFamily) => NodeVisit | Promise<NodeVisit>,
): Promise<PruneSearch> {
  const found: (PruneDecision & { readonly path: string })[] = [];
  const unreadable: string[] = [];
  const visitAt = async (path: string): Promise<readonly string[]> => {
    try {
      const family = await readFamily(session, path);
      if (family === undefined) return [];
      const { decision, further } = await visit(family);
      if (decision !== undefined) found.push({ path, ...decision });
      return further.filter((name) => !isOfServers(path, name)).map((name) => childPath(path, name));
    } catch (error) {
      if (!isNoAuth(error)) throw error;
      unreadable.push(path);
      return [];
    }
  };
  let paths = [root];
  while (paths.length > 0) {
    const below = await Promise.all(paths.slice(0, AT_ONCE).map(visitAt));
    paths = [...paths.slice(AT_ONCE), ...below.flat()];
  }
  return { found: found.sort(byPath), unreadable: unreadable.sort() };
}

/** `undefined` if there is no such node. @throws the error that ended the session, or a server's refusal */
export async function readFamily(session: Session, path: string): Promise<ReadFamily | undefined> {
  const node = await readNode(session, path);
  const children = node && (await childrenOf(session, node));
  return node === undefined || children === undefined ? undefined : { node, children };
}

/** `undefined` if there is no such node. @throws the error that ended the session, or a server's refusal */
export async function readNode(session: Session, path: string): Promise<VisitedNode | undefined> {
  const node = await ifThere(session.retryUntilAnswered(() => session.getData(path)));
  return node && { path, ...node };
}

/** Mostly needs no request. If children come later, the servers don't delete the node. */
export async function childrenOf(
  session: Session,
  { path, stat }: VisitedNode,
): Promise<string[] | undefined> {
  if (stat.numChildren === 0) return [];
  return await ifThere(session.retryUntilAnswered(() => session.getChildren(path)));
}

/** The servers' own nodes, which no session's path may name. */
function isOfServers(parent: string, name: string): boolean {
  return parent === '/' && name === 'zookeeper';
}
