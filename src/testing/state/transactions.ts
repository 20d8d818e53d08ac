import { TRAITS, type Traits } from '../dialect.js';
import { CONTAINER_OWNER, CREATE_FLAGS, ERROR_CODES, NO_OWNER, OP } from '../protocol/op-codes.js';
import { Refusal, refuse } from '../protocol/refusal.js';
import type { Check, Create, Delete, NodeWrite, SetAcl, SetData } from '../protocol/requests.js';
import { type Acl, type Identity, requireAccess, resolveAcl } from './acl.js';
import { parentForCreate, parentForDelete, requireValidPath, sequenceSuffix } from './paths.js';
import type { Change } from './watch-table.js';
import type { Stamp, Undo, Znode, ZnodeStat, ZnodeTree } from './znode-tree.js';

/** On whose behalf something is written, and as what transaction. */
export interface Author {
  readonly sessionId: bigint;
  readonly identities: readonly Identity[];
  readonly stamp: Stamp;
  /** Of a transaction of several parts: the counts of children as its parts have left them, which do wrap round. */
  readonly counts?: Map<Znode, number>;
  /** @default those of 3.8 */
  readonly traits?: Traits;
}

/** What was done by one write, told from the moment after it. */
export type WriteResult =
  | { readonly kind: 'created'; readonly opCode: number; readonly path: string; readonly stat: ZnodeStat }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'checked' }
  | { readonly kind: 'stat'; readonly stat: ZnodeStat };

/** A write that was carried out, and may still be taken back. */
export interface Applied {
  readonly result: WriteResult;
  readonly change?: Change;
  readonly undo: Undo;
}

/** What became of a transaction: all of its parts, or an error for each of them. */
export type MultiOutcome =
  | { readonly kind: 'committed'; readonly parts: readonly Applied[] }
  | { readonly kind: 'refused'; readonly codes: readonly number[] };

/**
 * Carries out one write; the checks come in ZooKeeper's order, which decides the error if several are due.
 *
 * @throws Refusal, and then nothing was changed
 */
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
 * Carries out all parts or none, each on what those before it left.
 *
 * @throws Refusal (MARSHALLING_ERROR) at a part that asks for a time to live by a flag alone: the server stumbles over it
 */
export function applyMulti(tree: ZnodeTree, parts: readonly NodeWrite[], by: Author): MultiOutcome {
  const { sessionId, identities, stamp, traits = TRAITS['3.8'] } = by;
  if (traits.typedCreatesInMulti && parts.some(isUnreadable)) refuse('MARSHALLING_ERROR');
  const author: Author = { sessionId, identities, stamp, counts: new Map() };
  const applied: Applied[] = [];
  for (const part of parts) {
    try {
      if (part.kind === 'create' && isMislabelled(part)) refuse('MARSHALLING_ERROR');
      applied.push(applyWrite(tree, part.kind === 'create' ? asPart(part, traits) : part, author));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const failed = applied.length;
      for (const { undo } of applied.reverse()) undo();
      if (error.code === ERROR_CODES.MARSHALLING_ERROR) throw error;
      return { kind: 'refused', codes: parts.map((_, index) => codeOf(index, failed, error.code)) };
    }
  }
  return { kind: 'committed', parts: applied };
}

/**
 * Within a transaction the flags say what is created. For a container the stat is told; in 3.9 also where the operation is
 * one that tells it.
 */
function asPart(create: Create, { typedCreatesInMulti }: Traits): Create {
  if (create.opCode === OP.createTTL) return create;
  if (create.flags === CREATE_FLAGS.container) return { ...create, opCode: OP.createContainer };
  return typedCreatesInMulti ? create : { ...create, opCode: OP.create };
}

/** Those before the part at fault are told that they were right, those after it that they don't matter. */
function codeOf(index: number, failed: number, code: number): number {
  if (index === failed) return code;
  return index < failed ? ERROR_CODES.OK : ERROR_CODES.RUNTIME_INCONSISTENCY;
}

function create(tree: ZnodeTree, write: Create, author: Author): Applied {
  const { sessionId, identities, stamp, counts } = author;
  const { flags, opCode, data } = write;
  if (!isMode(flags)) refuse('BAD_ARGUMENTS');
  // Servers don't offer it unless they are configured to.
  if (asksForTimeToLive(flags)) refuse('UNIMPLEMENTED');
  if (opCode === OP.createTTL) refuse('BAD_ARGUMENTS');
  const parentPath = parentForCreate(write.path);
  const acl = resolveAcl(write.acl, identities);
  const parent = existing(tree, parentPath);
  requireAccess(parent.acl, 'create', identities);
  const isSequential = (flags & CREATE_FLAGS.sequential) !== 0;
  const count = counts?.get(parent) ?? parent.childrenCreated;
  const path = isSequential ? write.path + sequenceSuffix(count) : write.path;
  requireValidPath(path);
  if (tree.get(path) !== undefined) refuse('NODE_EXISTS');
  if (parent.isEphemeral) refuse('NO_CHILDREN_FOR_EPHEMERALS');
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
    part.kind === 'create' && part.opCode !== OP.createTTL && (!isMode(part.flags) || isMislabelled(part))
  );
}

/** It asks for a time to live by its flags, as an operation that has no place for it. */
function isMislabelled({ opCode, flags }: Create): boolean {
  return opCode !== OP.createTTL && asksForTimeToLive(flags);
}

function asksForTimeToLive(flags: number): boolean {
  return flags === CREATE_FLAGS.timeToLive || flags === CREATE_FLAGS.sequentialTimeToLive;
}

/** A container is made by an operation of its own; its flag alone makes a plain node. */
function ownerOf({ opCode, flags }: Create, sessionId: bigint): bigint {
  if (opCode === OP.createContainer) return CONTAINER_OWNER;
  return (flags & CREATE_FLAGS.ephemeral) !== 0 ? sessionId : NO_OWNER;
}

function remove(tree: ZnodeTree, { path, version }: Delete, { identities, stamp }: Author): Applied {
  const parent = existing(tree, parentForDelete(path));
  requireAccess(parent.acl, 'delete', identities);
  const node = existing(tree, path);
  requireVersion(node.version, version);
  if (node.numChildren > 0) refuse('NOT_EMPTY');
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

/** Nobody is told: ZooKeeper has no watches for access lists. */
function setAcl(tree: ZnodeTree, { path, acl, version }: SetAcl, { identities }: Author): Applied {
  requireValidPath(path);
  const resolved: readonly Acl[] = resolveAcl(acl, identities);
  const node = existing(tree, path);
  requireAccess(node.acl, 'admin', identities);
  requireVersion(node.aversion, version);
  const undo = tree.setAcl(path, resolved);
  return { result: { kind: 'stat', stat: node.stat() }, undo };
}

function check(tree: ZnodeTree, { path, version }: Check, { identities }: Author): Applied {
  requireValidPath(path);
  const node = existing(tree, path);
  requireAccess(node.acl, 'read', identities);
  requireVersion(node.version, version);
  return { result: { kind: 'checked' }, undo: nothing };
}

function nothing(): void {
  return;
}

function existing(tree: ZnodeTree, path: string): Znode {
  return tree.get(path) ?? refuse('NO_NODE');
}

const ANY_VERSION = -1;

function requireVersion(actual: number, expected: number): void {
  if (expected !== ANY_VERSION && expected !== actual) refuse('BAD_VERSION');
}
