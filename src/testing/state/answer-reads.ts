import { ErrorReply, fail, OP_CODE } from '../protocol/op-codes.js';
import {
  aclBody,
  type Body,
  dataBody,
  identitiesBody,
  type PartReply,
  partsBody,
  statBody,
  stringBody,
  stringsBody,
} from '../protocol/replies.js';
import type { NodeRead, ReadOperation, SetWatches } from '../protocol/requests.js';
import { isAllowed, masked, OPEN_ACL, requireAccess } from './acl.js';
import type { Traits } from './dialects.js';
import type { Client } from './session-table.js';
import type { WatchTable } from './watch-table.js';
import { existing, type Znode, type ZnodeTree } from './znode-tree.js';

/** The state that reads need; the state machine has it. */
export interface Readable {
  readonly tree: ZnodeTree;
  readonly watches: WatchTable;
  readonly traits: Traits;
}

/** Carries out an operation that changes no node: gives the reply's body, sets the watches. @throws ErrorReply */
export function read(from: Readable, operation: ReadOperation, client: Client): Body | undefined {
  const { tree, watches, traits } = from;
  switch (operation.kind) {
    case 'getData':
    case 'getChildren':
      return readNode(from, operation, client);
    case 'multiRead':
      return partsBody(operation.parts.map((part) => readPart(from, part, client)));
    case 'exists':
      if (operation.path.includes('\0')) fail('BAD_ARGUMENTS');
      if (traits.existsNeedsRead)
        requireAccess(tree.get(operation.path)?.acl ?? OPEN_ACL, 'read', client.identities);
      // Also where there is no node: then the watch waits for its creation.
      if (operation.watch) watches.data.add(operation.path, client);
      return statBody(existing(tree, operation.path).stat());
    case 'getACL':
      return readAcl(existing(tree, operation.path), client);
    case 'whoAmI':
      return identitiesBody(client.identities);
    case 'sync':
      return stringBody(operation.path);
    case 'ping':
      return undefined;
    case 'removeWatches':
      return removeWatches(watches, operation.path, operation.type, client);
    case 'setWatches':
      return setWatches(from, operation, client);
  }
}

function readNode({ tree, watches }: Readable, operation: NodeRead, client: Client): Body {
  const { path, watch } = operation;
  const node = existing(tree, path);
  requireAccess(node.acl, 'read', client.identities);
  if (operation.kind === 'getData') {
    if (watch) watches.data.add(path, client);
    return dataBody(node.data, node.stat());
  }
  if (watch) watches.children.add(path, client);
  // ZooKeeper promises no order. The latest first: so tests show when a program relies on the order of creation.
  return stringsBody([...(node.children ?? [])].reverse(), operation.withStat ? node.stat() : undefined);
}

/** Unlike a transaction's parts, each part may fail by itself. */
function readPart(from: Readable, part: NodeRead, client: Client): PartReply {
  try {
    const body = readNode(from, part, client);
    return { opCode: part.kind === 'getData' ? OP_CODE.getData : OP_CODE.getChildren, body };
  } catch (error) {
    if (error instanceof ErrorReply) return { code: error.code };
    throw error;
  }
}

function readAcl(node: Znode, { identities }: Client): Body {
  const mayChange = isAllowed(node.acl, 'admin', identities);
  if (!mayChange) requireAccess(node.acl, 'read', identities);
  return aclBody(mayChange ? node.acl : masked(node.acl), node.stat());
}

const WATCH_TYPES = { children: 1, data: 2, any: 3 } as const;

function removeWatches(watches: WatchTable, path: string, type: number, client: Client): undefined {
  const removed = tablesOf(watches, type).map((table) => table.remove(path, client));
  if (!removed.includes(true)) fail('NO_WATCHER');
}

/** The tables that hold watches of a type. */
function tablesOf({ children, data }: WatchTable, type: number) {
  switch (type) {
    case WATCH_TYPES.children:
      return [children];
    case WATCH_TYPES.data:
      return [data];
    case WATCH_TYPES.any:
      return [children, data];
    default:
      return fail('MARSHALLING_ERROR');
  }
}

/** The watches of a client's former connection: those whose nodes have changed meanwhile are triggered now. */
function setWatches({ tree, watches }: Readable, asked: SetWatches, client: Client): undefined {
  for (const path of asked.data) {
    const node = tree.get(path);
    if (node === undefined) client.notify({ type: 'deleted', path });
    else if (node.mzxid > asked.sinceZxid) client.notify({ type: 'changed', path });
    else watches.data.add(path, client);
  }
  for (const path of asked.exist) {
    if (tree.get(path) !== undefined) client.notify({ type: 'created', path });
    else watches.data.add(path, client);
  }
  for (const path of asked.children) {
    const node = tree.get(path);
    if (node === undefined) client.notify({ type: 'deleted', path });
    else if (node.pzxid > asked.sinceZxid) client.notify({ type: 'children', path });
    else watches.children.add(path, client);
  }
}
