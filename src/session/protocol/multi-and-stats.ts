import { WireError, type WireReader, type WireWriter } from '../../wire/jute.js';
import { type Access, type AccessEntry, entriesOf } from './acl.js';

/**
 * The parts of requests and replies about nodes, in ZooKeeper's encoding, written and read by hand. So the packets of a lock's cycle take
 * 10 µs. With node-zookeeper-client's codec, which interprets a description of each field, they take 37 µs. Tests compare the two.
 */

/** ZooKeeper's operation codes, from `ZooDefs.OpCode`. */
export const OP = {
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  getAcl: 6,
  getChildren: 8,
  check: 13,
  multi: 14,
  removeWatches: 18,
  multiRead: 22,
  setWatches: 101,
  sasl: 102,
  closeSession: -11,
  error: -1,
} as const;

export const ANY_VERSION = -1;
const FLAGS = { persistent: 0, ephemeral: 1, 'ephemeral-sequential': 3 } as const;
const NO_DATA = Buffer.alloc(0); // Written if no data is given.
const EMPTY = Buffer.alloc(0); // The data of a node without data. Not `NO_DATA`, because callers get this one.

/**
 * The facts that ZooKeeper keeps about a node. Times are by the servers' clocks, in milliseconds since the epoch. In JSON,
 * transactions are strings, and `ephemeral` replaces the session's id, with which other clients could take the session over.
 */
export interface Stat {
  /** The transaction that created the node. */
  readonly czxid: bigint;
  /** The transaction that last wrote its data. */
  readonly mzxid: bigint;
  /** When the node was created, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** When its data was last written, in milliseconds since the epoch. */
  readonly modifiedAtMs: number;
  /** How many times its data was written since it was created. */
  readonly version: number;
  /** How many times a child of it was created or deleted since it was created. */
  readonly cversion: number;
  /** The id of the session that owns it; 0 for a persistent node. */
  readonly ephemeralOwner: bigint;
  /** How many children it has. */
  readonly numChildren: number;
  /** How many bytes of data it has. */
  readonly dataLength: number;
}

const CONTAINER_OWNER = -(2n ** 63n); // `Long.MIN_VALUE`. Session ids are never this.

/**
 * Whether a session owns the node, so that it is neither persistent nor a container. A node with a time to live counts as owned,
 * because its owner, 0xff and that time, may also be the id of a session of server 255.
 */
export function hasSession({ ephemeralOwner }: Stat): boolean {
  return ephemeralOwner !== 0n && ephemeralOwner !== CONTAINER_OWNER;
}

/** A node's data and stat, from the same moment. */
export interface NodeData {
  /** Empty if it has none. */
  readonly data: Buffer;
  /** The facts that ZooKeeper keeps about the node. */
  readonly stat: Stat;
}

/**
 * How long a node lives. A `persistent` node lives until a client deletes it; an `ephemeral` node also ends with its session.
 * With `sequential` the server appends a rising number to the name.
 */
export type CreateMode = keyof typeof FLAGS;

/** One part of a transaction. The node must have the `version`; -1 fits any version, and is the default. */
export type TransactionPart =
  | { readonly kind: 'check'; readonly path: string; readonly version?: number }
  | {
      readonly kind: 'create';
      readonly path: string;
      readonly data?: Uint8Array;
      readonly mode?: CreateMode;
      /** The access list of the node. @default the session's `access` */
      readonly access?: Access;
    }
  | { readonly kind: 'set'; readonly path: string; readonly data: Uint8Array; readonly version?: number }
  | { readonly kind: 'delete'; readonly path: string; readonly version?: number };

/** The result of one part of a committed transaction. */
export interface PartResult {
  /** The path of the new node, for a `create`. */
  readonly path?: string;
  /** The stat of the node after the write, for a `set`. */
  readonly stat?: Stat;
}

/** Writes one part of a transaction, or a request of its own. */
export function writePart(out: WireWriter, part: TransactionPart, access: Access): void {
  out.string(part.path);
  switch (part.kind) {
    case 'check':
    case 'delete':
      out.int32(part.version ?? ANY_VERSION);
      return;
    case 'set':
      out.buffer(part.data).int32(part.version ?? ANY_VERSION);
      return;
    case 'create':
      out.buffer(part.data ?? NO_DATA);
      out.vector(entriesOf(part.access ?? access), ({ permissions, scheme, id }) =>
        out.int32(permissions).string(scheme).string(id),
      );
      out.int32(FLAGS[part.mode ?? 'persistent']);
  }
}

const PART_CODES = { check: OP.check, create: OP.create, set: OP.setData, delete: OP.delete } as const;
const NONE = -1; // In place of the operation and of the error after the last part.

export function writeParts(out: WireWriter, parts: readonly TransactionPart[], access: Access): void {
  for (const part of parts) {
    out.int32(PART_CODES[part.kind]).bool(false).int32(NONE);
    writePart(out, part, access);
  }
  out.int32(NONE).bool(true).int32(NONE);
}

const HEADER_BYTES = 8; // The xid and the operation.
const PART_HEADER_BYTES = 9; // Before each part, and after the last one.

/** How long the packet of a transaction with these parts is, without its length in front, in bytes. */
export function bytesOfParts(parts: readonly TransactionPart[], access: Access): number {
  const bytes = parts.map((part) => PART_HEADER_BYTES + bytesOfPart(part, access));
  return bytes.reduce((sum, each) => sum + each, HEADER_BYTES + PART_HEADER_BYTES);
}

/** As {@link writePart} writes it. Each text, buffer and list has its length in front. */
function bytesOfPart(part: TransactionPart, access: Access): number {
  const path = 4 + Buffer.byteLength(part.path);
  switch (part.kind) {
    case 'check':
    case 'delete':
      return path + 4;
    case 'set':
      return path + 4 + part.data.byteLength + 4;
    case 'create': {
      const entries = entriesOf(part.access ?? access).map(
        ({ scheme, id }) => 12 + Buffer.byteLength(scheme) + Buffer.byteLength(id),
      );
      const list = entries.reduce((sum, each) => sum + each, 4);
      return path + 4 + (part.data?.byteLength ?? 0) + list + 4;
    }
  }
}

/** The result of a part, or an error's code. In a refused transaction every part has a code. */
export type PartOutcome = PartResult | { readonly errorCode: number };

export function readOutcomes(bytes: WireReader): PartOutcome[] {
  return readParts(bytes, readOutcome);
}

/** Reads the parts of an answer until its end. @param read - reads one part, by the code of its operation */
function readParts<T>(bytes: WireReader, read: (code: number, bytes: WireReader) => T): T[] {
  const parts: T[] = [];
  for (;;) {
    const [code, hasEnded] = [bytes.int32(), bytes.bool()];
    bytes.skip(4); // The error's code, or none. The error itself repeats it.
    if (hasEnded) return parts;
    parts.push(read(code, bytes));
  }
}

function readOutcome(code: number, bytes: WireReader): PartOutcome {
  switch (code) {
    case OP.create:
      return { path: bytes.string() };
    case OP.setData:
      return { stat: readStat(bytes) };
    case OP.delete:
    case OP.check:
      return {};
    case OP.error:
      return { errorCode: bytes.int32() };
    default:
      throw unexpected(code);
  }
}

function unexpected(code: number): WireError {
  return new WireError(`an answer to an operation ${code}, which was not asked for`);
}

/** Writes reads of several nodes' data, none of which sets a watch. */
export function writeReads(out: WireWriter, paths: readonly string[]): void {
  for (const path of paths) out.int32(OP.getData).bool(false).int32(NONE).string(path).bool(false);
  out.int32(NONE).bool(true).int32(NONE);
}

/** What was read of one of several nodes, or an error's code. */
export type ReadOutcome = NodeData | { readonly errorCode: number };

/** @throws WireError */
export function readReadOutcomes(bytes: WireReader): ReadOutcome[] {
  return readParts(bytes, (code): ReadOutcome => {
    if (code === OP.getData) return readNodeData(bytes);
    if (code === OP.error) return { errorCode: bytes.int32() };
    throw unexpected(code);
  });
}

/** It is a class only for its JSON form. It is as large as an object with the same fields. */
class NodeStat implements Stat {
  constructor(
    readonly czxid: bigint,
    readonly mzxid: bigint,
    readonly createdAtMs: number,
    readonly modifiedAtMs: number,
    readonly version: number,
    readonly cversion: number,
    readonly ephemeralOwner: bigint,
    readonly numChildren: number,
    readonly dataLength: number,
  ) {}

  toJSON(): object {
    const { czxid, mzxid, ephemeralOwner, ...rest } = this;
    return { czxid: String(czxid), mzxid: String(mzxid), ...rest, ephemeral: ephemeralOwner !== 0n };
  }
}

/** @throws WireError */
export function readStat(bytes: WireReader): Stat {
  const czxid = bytes.int64();
  const mzxid = bytes.int64();
  const createdAtMs = Number(bytes.int64());
  const modifiedAtMs = Number(bytes.int64());
  const version = bytes.int32();
  const cversion = bytes.int32();
  bytes.skip(4); // How often its access list has changed.
  const ephemeralOwner = bytes.int64();
  const dataLength = bytes.int32();
  const numChildren = bytes.int32();
  bytes.skip(8); // The transaction that last changed its children.
  return new NodeStat(
    czxid,
    mzxid,
    createdAtMs,
    modifiedAtMs,
    version,
    cversion,
    ephemeralOwner,
    numChildren,
    dataLength,
  );
}

/** @throws WireError */
export function readNodeData(bytes: WireReader): NodeData {
  const given = bytes.nullableBuffer() ?? EMPTY;
  if (given.length === 0) return { data: EMPTY, stat: readStat(bytes) };
  // A copy with its own memory. A slice of a packet, or of a shared buffer, would keep all of it alive.
  const data = Buffer.allocUnsafeSlow(given.length);
  data.set(given);
  return { data, stat: readStat(bytes) };
}

/** @throws WireError */
export function readAccess(bytes: WireReader): AccessEntry[] {
  const entry = () => {
    const permissions = bytes.int32();
    return { scheme: bytes.string(), id: bytes.string(), permissions };
  };
  const entries = bytes.nullableVector(entry) ?? [];
  readStat(bytes); // The end of the answer.
  return entries;
}
