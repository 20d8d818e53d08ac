import type { Acl, ZnodeStat } from '../protocol/acl-and-stat.js';
import { CONTAINER_OWNER, fail, NO_OWNER } from '../protocol/op-codes.js';
import { OPEN_ACL, READ_ONLY_ACL } from './acl.js';

/** The transaction that a change belongs to. */
export interface Stamp {
  readonly zxid: bigint;
  readonly timeMs: number; // Milliseconds of the epoch.
}

export interface ZnodeContent {
  readonly data: Buffer | null;
  readonly acl: readonly Acl[];
  readonly ephemeralOwner: bigint;
}

export class Znode {
  data: Buffer | null;
  acl: readonly Acl[];
  mzxid: bigint;
  mtimeMs: number;
  pzxid: bigint;
  version = 0;
  aversion = 0;
  /**
   * How many children were ever created here: the number of the next sequential child. A signed 32-bit number that stays
   * at its maximum: ZooKeeper 3.8 keeps the larger of two counts, so that this one never wraps round.
   */
  childrenCreated = 0;
  readonly czxid: bigint;
  readonly ctimeMs: number;
  readonly ephemeralOwner: bigint;
  /** Their names. Most nodes have no children, and no set for them. */
  children: Set<string> | undefined;

  constructor({ data, acl, ephemeralOwner }: ZnodeContent, { zxid, timeMs }: Stamp) {
    this.data = data;
    this.acl = acl;
    this.ephemeralOwner = ephemeralOwner;
    this.czxid = this.mzxid = this.pzxid = zxid;
    this.ctimeMs = this.mtimeMs = timeMs;
  }

  get numChildren(): number {
    return this.children?.size ?? 0;
  }

  /** Owned by a session. A container's owner is an id that no session has. */
  get isEphemeral(): boolean {
    return this.ephemeralOwner !== NO_OWNER && this.ephemeralOwner !== CONTAINER_OWNER;
  }

  stat(): ZnodeStat {
    const { czxid, mzxid, ctimeMs, mtimeMs, version, aversion, pzxid, numChildren } = this;
    return {
      czxid,
      mzxid,
      ctimeMs,
      mtimeMs,
      version,
      // Clients see the number of changes: each child was created once, and each child that is gone was deleted once.
      cversion: (this.childrenCreated * 2 - numChildren) | 0,
      aversion,
      ephemeralOwner: this.isEphemeral ? this.ephemeralOwner : NO_OWNER,
      dataLength: this.data?.length ?? 0,
      numChildren,
      pzxid,
    };
  }
}

/** Undoes a change. Of several changes, the last must be undone first. */
export type Undo = () => void;

const BEGINNING: Stamp = { zxid: 0n, timeMs: 0 };

/** The nodes, by their paths. It carries out changes that `apply-writes.ts` has checked, and returns how to undo them. */
export class ZnodeTree {
  readonly #nodes = new Map<string, Znode>();
  readonly #ephemerals = new Map<bigint, Set<string>>();
  readonly #containers = new Set<string>();

  constructor() {
    this.#nodes.set('', ownNode(OPEN_ACL));
    this.#addServersOwn('/zookeeper', ownNode(OPEN_ACL));
    this.#addServersOwn('/zookeeper/quota', ownNode(OPEN_ACL));
    const config = ownNode(READ_ONLY_ACL);
    // The servers set its access list at no version, which is what it counts from.
    config.aversion = -1;
    this.#addServersOwn('/zookeeper/config', config);
  }

  /** The server's own nodes count as children, but not as created: a new server's root has a `cversion` of -1. */
  #addServersOwn(path: string, node: Znode): void {
    this.#nodes.set(path, node);
    childrenOf(this.#nodes.get(parentOf(path)) as Znode).add(nameOf(path));
  }

  get(path: string): Znode | undefined {
    return this.#nodes.get(path === '/' ? '' : path);
  }

  /** As ZooKeeper counts nodes: the root twice, as `/` and as the empty path, the parent of its children. */
  get size(): number {
    return this.#nodes.size + 1;
  }

  get ephemeralCount(): number {
    return [...this.#ephemerals.values()].reduce((count, { size }) => count + size, 0);
  }

  /** The bytes of all data and paths. */
  get approximateBytes(): number {
    let bytes = 0;
    for (const [path, node] of this.#nodes) bytes += path.length + (node.data?.length ?? 0);
    return bytes;
  }

  /** The paths of all nodes, the root's being `/`, in the order in which they were created. */
  *paths(): Generator<string> {
    for (const path of this.#nodes.keys()) yield path === '' ? '/' : path;
  }

  /** The paths of a session's ephemeral nodes, in the order in which they were created. */
  ephemeralsOf(owner: bigint): ReadonlySet<string> {
    return this.#ephemerals.get(owner) ?? NONE;
  }

  ephemeralOwners(): MapIterator<bigint> {
    return this.#ephemerals.keys();
  }

  /** Containers that had children and have none now: the server deletes them. */
  abandonedContainers(): string[] {
    return [...this.#containers].filter((path) => {
      const node = this.#nodes.get(path) as Znode;
      return node.childrenCreated > 0 && node.numChildren === 0;
    });
  }

  /** @param count - how many children the parent will have had, by the count of the transaction */
  create(path: string, content: ZnodeContent, count: number, stamp: Stamp): Undo {
    const parent = this.#parent(path);
    const { childrenCreated, pzxid } = parent;
    if (count > childrenCreated) {
      parent.childrenCreated = count;
      parent.pzxid = stamp.zxid;
    }
    this.#add(path, new Znode(content, stamp));
    return () => {
      this.#remove(path);
      parent.childrenCreated = childrenCreated;
      parent.pzxid = pzxid;
    };
  }

  delete(path: string, stamp: Stamp): Undo {
    const node = this.#nodes.get(path) as Znode;
    const parent = this.#parent(path);
    const { pzxid } = parent;
    parent.pzxid = stamp.zxid;
    this.#remove(path);
    return () => {
      this.#add(path, node);
      parent.pzxid = pzxid;
    };
  }

  setData(path: string, data: Buffer | null, stamp: Stamp): Undo {
    const node = this.get(path) as Znode;
    const before = { data: node.data, version: node.version, mzxid: node.mzxid, mtimeMs: node.mtimeMs };
    node.data = data;
    node.version = (node.version + 1) | 0;
    node.mzxid = stamp.zxid;
    node.mtimeMs = stamp.timeMs;
    return () => Object.assign(node, before);
  }

  setAcl(path: string, acl: readonly Acl[]): Undo {
    const node = this.get(path) as Znode;
    const before = { acl: node.acl, aversion: node.aversion };
    Object.assign(node, { acl, aversion: (node.aversion + 1) | 0 });
    return () => Object.assign(node, before);
  }

  #parent(path: string): Znode {
    return this.#nodes.get(parentOf(path)) as Znode;
  }

  #add(path: string, node: Znode): void {
    this.#nodes.set(path, node);
    childrenOf(this.#parent(path)).add(nameOf(path));
    if (node.ephemeralOwner === CONTAINER_OWNER) this.#containers.add(path);
    if (!node.isEphemeral) return;
    const owned = this.#ephemerals.get(node.ephemeralOwner) ?? new Set();
    this.#ephemerals.set(node.ephemeralOwner, owned.add(path));
  }

  #remove(path: string): void {
    const { ephemeralOwner } = this.#nodes.get(path) as Znode;
    this.#nodes.delete(path);
    const parent = this.#parent(path);
    parent.children?.delete(nameOf(path));
    if (parent.numChildren === 0) parent.children = undefined;
    this.#containers.delete(path);
    const owned = this.#ephemerals.get(ephemeralOwner);
    owned?.delete(path);
    if (owned?.size === 0) this.#ephemerals.delete(ephemeralOwner);
  }
}

/** @throws ErrorReply (NO_NODE) */
export function existing(tree: ZnodeTree, path: string): Znode {
  return tree.get(path) ?? fail('NO_NODE');
}

const NONE: ReadonlySet<string> = new Set();

function ownNode(acl: readonly Acl[]): Znode {
  return new Znode({ data: Buffer.alloc(0), acl, ephemeralOwner: NO_OWNER }, BEGINNING);
}

function childrenOf(node: Znode): Set<string> {
  node.children ??= new Set();
  return node.children;
}

/** ZooKeeper's rules for paths, from `PathUtils` and `PrepRequestProcessor`. The parent of `/a` is the empty path. */

const SPECIAL = new Set(['/', '/zookeeper', '/zookeeper/quota', '/zookeeper/config']);

// Refused by `PathUtils`: control characters, surrogates and the private use area, specials.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are refused
const REFUSED_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]/;
const REFUSED_PARTS = /\/\/|\/\.{1,2}(\/|$)/;

/** @throws ErrorReply (BAD_ARGUMENTS) */
export function requireValidPath(path: string): void {
  const valid =
    path === '/' ||
    (path.startsWith('/') &&
      !path.endsWith('/') &&
      !REFUSED_CHARACTERS.test(path) &&
      !REFUSED_PARTS.test(path));
  if (!valid) fail('BAD_ARGUMENTS');
}

/** The parent of a node to be created, before its name is complete. @throws ErrorReply (BAD_ARGUMENTS) */
export function parentForCreate(path: string): string {
  if (!path.includes('/') || path.includes('\0')) fail('BAD_ARGUMENTS');
  return parentOf(path);
}

/** The parent of a node to be deleted, which must not belong to the server. @throws ErrorReply (BAD_ARGUMENTS) */
export function parentForDelete(path: string): string {
  if (SPECIAL.has(path)) fail('BAD_ARGUMENTS');
  return parentForCreate(path);
}

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The path of a parent in requests and watches: the root's is `/`. */
export function visible(path: string): string {
  return path === '' ? '/' : path;
}

/** The suffix of a sequential node's name: Java's `%010d` of a signed 32-bit number, which counts the sign too. */
export function sequenceSuffix(counter: number): string {
  return counter < 0 ? `-${String(-counter).padStart(9, '0')}` : String(counter).padStart(10, '0');
}
