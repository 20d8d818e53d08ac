import type { Acl, ZnodeStat } from '../protocol/acl-and-stat.js';
import {
  CONTAINER_OWNER,
  CREATE_FLAGS,
  ERROR_CODES,
  ErrorReply,
  fail,
  NO_OWNER,
  OP_CODE,
} from '../protocol/op-codes.js';
import { type Body, createdBody, type PartReply, partsBody, statBody } from '../protocol/replies.js';
import type { Check, Create, Delete, NodeWrite, SetAcl, SetData } from '../protocol/requests.js';
import { type AclAuthor, requireAccess, resolveAcl } from './acl.js';
import { TRAITS, type Traits } from './dialects.js';
import type { TreeChange } from './watch-table.js';
import {
  existing,
  parentForCreate,
  parentForDelete,
  requireValidPath,
  type Stamp,
  sequenceSuffix,
  type Undo,
  type Znode,
  type ZnodeTree,
} from './znode-tree.js';

/** The client that writes, and its transaction. */
export interface Author extends AclAuthor {
  readonly sessionId: bigint;
  readonly stamp: Stamp;
  /** In a transaction of several parts: the counts of children after the parts so far, which do wrap round. */
  readonly counts?: Map<Znode, number>;
  /** @default those of 3.8 */
  readonly traits?: Traits;
}

/** The result of one write, with the state right after it. */
export type WriteResult =
  | { readonly kind: 'created'; readonly opCode: number; readonly path: string; readonly stat: ZnodeStat }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'checked' }
  | { readonly kind: 'stat'; readonly stat: ZnodeStat };

/** A write that was carried out, and can still be undone. */
export interface Applied {
  readonly result: WriteResult;
  readonly change?: TreeChange;
  readonly undo: Undo;
}

/** The outcome of a transaction: the results of all parts, or an error for each of them. */
export type MultiOutcome =
  | { readonly kind: 'committed'; readonly parts: readonly Applied[] }
  | { readonly kind: 'refused'; readonly codes: readonly number[] };

/** Carries out one write. The order of checks is ZooKeeper's: it decides the error. @throws ErrorReply; then nothing changed */
export function applyWrite(tree: ZnodeTree, write: NodeWrite, author: Author): Applied {
  switch (write.kind) {
    case 'create':
      return create(tree, write, author);
    case 'delete':
      return remove(tree, write, author);
    case 'setData':
      return setData(tree, write, author);
    case 'setACL':
      return setAcl(tree, write, author);
    case 'check':
      return check(tree, write, author);
  }
}

/**
 * Carries out all parts or none, each on the state that the parts before it have left.
 *
 * @throws ErrorReply (MARSHALLING_ERROR) at a part that asks for a time to live by a flag alone: ZooKeeper can't read it
 */
export function applyMulti(tree: ZnodeTree, parts: readonly NodeWrite[], by: Author): MultiOutcome {
  const { traits = TRAITS['3.8'] } = by;
  const author: Author = { ...by, counts: new Map() };
  if (traits.typedCreatesInMulti && parts.some(isUnreadable)) fail('MARSHALLING_ERROR');
  const applied: Applied[] = [];
  for (const part of parts) {
    try {
      if (part.kind === 'create' && isMislabelled(part)) fail('MARSHALLING_ERROR');
      applied.push(applyWrite(tree, part.kind === 'create' ? asPart(part, traits) : part, author));
    } catch (error) {
      if (!(error instanceof ErrorReply)) throw error;
      const failed = applied.length;
      for (const { undo } of applied.reverse()) undo();
      if (error.code === ERROR_CODES.MARSHALLING_ERROR) throw error;
      return { kind: 'refused', codes: parts.map((_, index) => codeOf(index, failed, error.code)) };
    }
  }
  return { kind: 'committed', parts: applied };
}

/**
 * Within a transaction the flags say what is created. The answer for a container includes its stat; in 3.9 also the answer
 * to every operation that includes it outside a transaction.
 */
function asPart(create: Create, { typedCreatesInMulti }: Traits): Create {
  if (create.opCode === OP_CODE.createTTL) return create;
  if (create.flags === CREATE_FLAGS.container) return { ...create, opCode: OP_CODE.createContainer };
  return typedCreatesInMulti ? create : { ...create, opCode: OP_CODE.create };
}

/** Parts before the one that failed are answered with OK, parts after it with RUNTIME_INCONSISTENCY. */
function codeOf(index: number, failed: number, code: number): number {
  if (index === failed) return code;
  return index < failed ? ERROR_CODES.OK : ERROR_CODES.RUNTIME_INCONSISTENCY;
}

function create(tree: ZnodeTree, write: Create, author: Author): Applied {
  const { sessionId, identities, stamp, counts } = author;
  const { flags, opCode, data } = write;
  if (!isMode(flags)) fail('BAD_ARGUMENTS');
  // Servers refuse it unless they are configured for it.
  if (asksForTimeToLive(flags)) fail('UNIMPLEMENTED');
  if (opCode === OP_CODE.createTTL) fail('BAD_ARGUMENTS');
  const parentPath = parentForCreate(write.path);
  const acl = resolveAcl(write.acl, author);
  const parent = existing(tree, parentPath);
  requireAccess(parent.acl, 'create', identities);
  const isSequential = (flags & CREATE_FLAGS.sequential) !== 0;
  const count = counts?.get(parent) ?? parent.childrenCreated;
  const path = isSequential ? write.path + sequenceSuffix(count) : write.path;
  requireValidPath(path);
  if (tree.get(path) !== undefined) fail('NODE_EXISTS');
  if (parent.isEphemeral) fail('NO_CHILDREN_FOR_EPHEMERALS');
  const next = (count + 1) | 0;
  counts?.set(parent, next);
  const undo = tree.create(path, { data, acl, ephemeralOwner: ownerOf(write, sessionId) }, next, stamp);
  const stat = (tree.get(path) as Znode).stat();
  return {
    result: { kind: 'created', opCode, path, stat },
    change: { kind: 'created', path, acl, parentAcl: parent.acl },
    undo,
  };
}

function isMode(flags: number): boolean {
  return flags >= 0 && flags <= CREATE_FLAGS.sequentialTimeToLive;
}

function isUnreadable(part: NodeWrite): boolean {
  return (
    part.kind === 'create' &&
    part.opCode !== OP_CODE.createTTL &&
    (!isMode(part.flags) || isMislabelled(part))
  );
}

/** Its flags ask for a time to live, but its operation has no field for one. */
function isMislabelled({ opCode, flags }: Create): boolean {
  return opCode !== OP_CODE.createTTL && asksForTimeToLive(flags);
}

function asksForTimeToLive(flags: number): boolean {
  return flags === CREATE_FLAGS.timeToLive || flags === CREATE_FLAGS.sequentialTimeToLive;
}

/** A container has its own operation; its flag alone creates a plain node. */
function ownerOf({ opCode, flags }: Create, sessionId: bigint): bigint {
  if (opCode === OP_CODE.createContainer) return CONTAINER_OWNER;
  return (flags & CREATE_FLAGS.ephemeral) !== 0 ? sessionId : NO_OWNER;
}

function remove(tree: ZnodeTree, { path, version }: Delete, { identities, stamp }: Author): Applied {
  const parent = existing(tree, parentForDelete(path));
  requireAccess(parent.acl, 'delete', identities);
  const node = existing(tree, path);
  requireVersion(node.version, version);
  if (node.numChildren > 0) fail('NOT_EMPTY');
  const undo = tree.delete(path, stamp);
  return {
    result: { kind: 'deleted' },
    change: { kind: 'deleted', path, acl: node.acl, parentAcl: parent.acl },
    undo,
  };
}

function setData(tree: ZnodeTree, { path, data, version }: SetData, author: Author): Applied {
  requireValidPath(path);
  const node = existing(tree, path);
  requireAccess(node.acl, 'write', author.identities);
  requireVersion(node.version, version);
  const undo = tree.setData(path, data, author.stamp);
  return {
    result: { kind: 'stat', stat: node.stat() },
    change: { kind: 'changed', path, acl: node.acl },
    undo,
  };
}

/** No watch is triggered: ZooKeeper has no watches for access lists. */
function setAcl(tree: ZnodeTree, { path, acl, version }: SetAcl, author: Author): Applied {
  requireValidPath(path);
  const resolved: readonly Acl[] = resolveAcl(acl, author);
  const node = existing(tree, path);
  requireAccess(node.acl, 'admin', author.identities);
  requireVersion(node.aversion, version);
  const undo = tree.setAcl(path, resolved);
  return { result: { kind: 'stat', stat: node.stat() }, undo };
}

function check(tree: ZnodeTree, { path, version }: Check, { identities }: Author): Applied {
  requireValidPath(path);
  const node = existing(tree, path);
  requireAccess(node.acl, 'read', identities);
  requireVersion(node.version, version);
  return { result: { kind: 'checked' }, undo: () => undefined };
}

const ANY_VERSION = -1;

function requireVersion(actual: number, expected: number): void {
  if (expected !== ANY_VERSION && expected !== actual) fail('BAD_VERSION');
}

export function writeBody(result: WriteResult): Body | undefined {
  switch (result.kind) {
    case 'created':
      return createdBody(result.opCode, result.path, result.stat);
    case 'stat':
      return statBody(result.stat);
    case 'deleted':
    case 'checked':
      return undefined;
  }
}

export function multiBody(outcome: MultiOutcome): Body {
  return partsBody(
    outcome.kind === 'refused' ? outcome.codes.map((code) => ({ code })) : outcome.parts.map(toPart),
  );
}

function toPart({ result }: Applied): PartReply {
  const body = writeBody(result);
  switch (result.kind) {
    case 'created':
      // A stat comes under the code of `create2`, the first operation that had one, whichever operation created the node.
      return { opCode: result.opCode === OP_CODE.create ? OP_CODE.create : OP_CODE.create2, body };
    case 'stat':
      return { opCode: OP_CODE.setData, body };
    case 'deleted':
      return { opCode: OP_CODE.delete, body };
    case 'checked':
      return { opCode: OP_CODE.check, body };
  }
}
