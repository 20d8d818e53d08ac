import { NoNodeError } from '../../errors.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { NodeData } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import { ShardList } from '../../shards/nodes/shard-list.js';
import { type ElectionNodes, isElection, kindOfChild, type ReadNode } from './election-nodes.js';

const AT_ONCE = 64; // Nodes that are read at the same time.

/** The elections below a path. */
export interface Found {
  readonly elections: readonly ElectionNodes[];
  /** Nodes that this session may not read. */
  readonly unreadable: readonly string[];
}

/**
 * Finds the elections at `root` and below it. It leaves out the elections in which groups of shards elect their planners: they belong to
 * their group.
 * @throws the error that ended the session, or a server's refusal for another reason than permission
 */
export async function findElections(session: Session, root: string): Promise<Found> {
  const elections: ElectionNodes[] = [];
  const unreadable: string[] = [];
  let paths = [root];
  while (paths.length > 0) {
    const here = paths.slice(0, AT_ONCE);
    const found = await Promise.all(here.map((path) => visit(session, path)));
    const below: string[] = [];
    for (const [index, each] of found.entries()) {
      if (each === 'unreadable') unreadable.push(here[index] as string);
      else if (each !== undefined) {
        if (each.nodes !== undefined) elections.push(each.nodes);
        below.push(...each.below);
      }
    }
    paths = [...paths.slice(AT_ONCE), ...below];
  }
  return { elections: elections.sort((a, b) => (a.election.path < b.election.path ? -1 : 1)), unreadable };
}

/** The election at that path; `undefined` if there is none. @throws as {@link findElections} does */
export async function readElection(session: Session, path: string): Promise<ElectionNodes | undefined> {
  const node = await read(session, path);
  const children = node && (await childrenOf(session, node));
  return node !== undefined && children !== undefined && isElection(node, children)
    ? await readParts(session, node, children)
    : undefined;
}

interface Visit {
  readonly nodes: ElectionNodes | undefined;
  /** The paths where to go on. */
  readonly below: readonly string[];
}

/** `undefined`: there is no such node any more. */
async function visit(session: Session, path: string): Promise<Visit | 'unreadable' | undefined> {
  try {
    const node = await read(session, path);
    const children = node && (await childrenOf(session, node));
    if (node === undefined || children === undefined) return undefined;
    if (ShardList.parse(node.data) !== undefined) return { nodes: undefined, below: [] };
    const others = children.filter((name) => kindOfChild(name) !== 'candidate' && !isOfServers(path, name));
    if (!isElection(node, children))
      return { nodes: undefined, below: others.map((name) => join(path, name)) };
    const nested = others.filter((name) => kindOfChild(name) === 'other');
    return { nodes: await readParts(session, node, children), below: nested.map((name) => join(path, name)) };
  } catch (error) {
    if (isNoAuth(error)) return 'unreadable';
    throw error;
  }
}

async function readParts(
  session: Session,
  election: ReadNode,
  children: readonly string[],
): Promise<ElectionNodes> {
  const of = (kind: string) => children.filter((name) => kindOfChild(name) === kind);
  const readAll = async (parent: string, names: readonly string[]) => {
    const nodes = await Promise.all(names.map((name) => read(session, join(parent, name))));
    return nodes.filter((node) => node !== undefined);
  };
  const seats = await readAll(election.path, of('seat'));
  const [parent] = await readAll(election.path, of('run-log'));
  if (parent === undefined) return { election, children, seats, runLog: undefined };
  const names = (await childrenOf(session, parent)) ?? [];
  return { election, children, seats, runLog: { parent, tasks: await readAll(parent.path, names) } };
}

async function read(session: Session, path: string): Promise<ReadNode | undefined> {
  const node = await unlessGone<NodeData>(() => session.retryUntilAnswered(() => session.getData(path)));
  return node && { path, ...node };
}

/** Mostly needs no request. If children come later, the servers don't delete the node. */
async function childrenOf(session: Session, { path, stat }: ReadNode): Promise<string[] | undefined> {
  if (stat.numChildren === 0) return [];
  return await unlessGone(() => session.retryUntilAnswered(() => session.getChildren(path)));
}

async function unlessGone<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof NoNodeError) return undefined;
    throw error;
  }
}

function join(parent: string, name: string): string {
  return parent === '/' ? `/${name}` : `${parent}/${name}`;
}

/** The servers' own nodes, which no session's path may name. */
function isOfServers(parent: string, name: string): boolean {
  return parent === '/' && name === 'zookeeper';
}
