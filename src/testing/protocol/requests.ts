import { WireError, type WireReader } from '../../wire/jute.js';
import type { GivenAcl } from './acl-and-stat.js';
import { LONGEST_PACKET_BYTES, OP_CODE, PASSWORD_BYTES } from './op-codes.js';

const LENGTH_BYTES = 4;

/** Splits the bytes of a socket into packets. */
export class PacketSplitter {
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #wantedBytes = LENGTH_BYTES; // How many bytes complete the packet that is being received.

  /** The first four bytes that were received, once they are there and before a packet was taken. */
  peek(): string | undefined {
    if (this.#pendingBytes < LENGTH_BYTES) return undefined;
    return this.#joined().toString('latin1', 0, LENGTH_BYTES);
  }

  push(chunk: Buffer): void {
    this.#pending.push(chunk);
    this.#pendingBytes += chunk.length;
  }

  /**
   * The next packet, if it is complete.
   *
   * @throws WireError if its length isn't allowed: then the rest of the stream can't be read
   */
  next(): Buffer | undefined {
    if (this.#pendingBytes < this.#wantedBytes) return undefined;
    const bytes = this.#joined();
    const length = bytes.readInt32BE(0);
    if (length < 0 || length > LONGEST_PACKET_BYTES) throw new WireError(`a packet of ${length} bytes`);
    this.#wantedBytes = LENGTH_BYTES + length;
    if (bytes.length < this.#wantedBytes) return undefined;
    const packet = bytes.subarray(LENGTH_BYTES, this.#wantedBytes);
    this.#pendingBytes = bytes.length - this.#wantedBytes;
    this.#pending = this.#pendingBytes === 0 ? [] : [bytes.subarray(this.#wantedBytes)];
    this.#wantedBytes = LENGTH_BYTES;
    return packet;
  }

  #joined(): Buffer {
    const bytes = this.#pending.length === 1 ? (this.#pending[0] as Buffer) : Buffer.concat(this.#pending);
    this.#pending = [bytes];
    return bytes;
  }
}

/** The handshake: the first packet of a connection. */
export interface ConnectRequest {
  readonly lastZxid: bigint;
  readonly timeoutMs: number;
  readonly sessionId: bigint;
  readonly password: Buffer;
  /** Clients before 3.4 don't send the flag for read-only servers, and can't read it in the answer. */
  readonly sendsReadOnlyFlag: boolean;
}

export interface Create {
  readonly kind: 'create';
  readonly opCode: number; // `create` is answered without the new node's stat, the other operations with it.
  readonly path: string;
  readonly data: Buffer | null;
  readonly acl: readonly GivenAcl[] | null;
  readonly flags: number;
}

interface Versioned<K extends string> {
  readonly kind: K;
  readonly path: string;
  readonly version: number;
}
export type Delete = Versioned<'delete'>;
export type Check = Versioned<'check'>;
export type SetData = Versioned<'setData'> & { readonly data: Buffer | null };
export type SetAcl = Versioned<'setACL'> & { readonly acl: readonly GivenAcl[] | null };

/** A change of one node, or a condition for the other parts of a transaction. */
export type NodeWrite = Create | Delete | Check | SetData | SetAcl;
export interface Multi {
  readonly kind: 'multi';
  readonly parts: readonly NodeWrite[];
}
/** An operation that this server always refuses, as ZooKeeper does by default. It still takes a zxid. */
export interface RefusedWrite {
  readonly kind: 'reconfig' | 'deleteContainer';
}
export type WriteOperation = NodeWrite | Multi | RefusedWrite;

interface Watched<K extends string> {
  readonly kind: K;
  readonly path: string;
  readonly watch: boolean;
}
export type GetData = Watched<'getData'>;
export type GetChildren = Watched<'getChildren'> & { readonly withStat: boolean };
export type NodeRead = GetData | GetChildren;

export interface SetWatches {
  readonly kind: 'setWatches';
  readonly sinceZxid: bigint;
  readonly data: readonly string[];
  readonly exist: readonly string[];
  readonly children: readonly string[];
}
export type ReadOperation =
  | NodeRead
  | Watched<'exists'>
  | { readonly kind: 'getACL'; readonly path: string }
  | { readonly kind: 'sync'; readonly path: string | null }
  | { readonly kind: 'multiRead'; readonly parts: readonly NodeRead[] }
  | { readonly kind: 'removeWatches'; readonly path: string; readonly type: number }
  | { readonly kind: 'ping' | 'whoAmI' }
  | SetWatches;

export interface Authentication {
  readonly kind: 'auth';
  readonly scheme: string | null;
  readonly credentials: Buffer | null;
}
export interface SaslToken {
  readonly kind: 'sasl';
  readonly token: Buffer;
}
/** An operation on the connection or the session, not on nodes. */
export type SessionOperation = Authentication | SaslToken | { readonly kind: 'closeSession' };

export type Operation = WriteOperation | ReadOperation | SessionOperation;
/** An operation's name, for all versions of its request: every way to create a node is `create`. */
export type OperationName = Operation['kind'];
/** What is counted and can have faults: every operation, and the handshake that connects a session. */
export type LoggedOperation = OperationName | 'connect';

type Decoder = (reader: WireReader, opCode: number) => Operation;

interface RequestType {
  readonly name: OperationName;
  readonly writes: boolean; // Whether it takes a zxid, also when it fails or can't be read.
  readonly decode: Decoder;
}

const reads = (name: OperationName, decode: Decoder): RequestType => ({ name, writes: false, decode });
const writes = (name: OperationName, decode: Decoder): RequestType => ({ name, writes: true, decode });

const REQUEST_TYPES: ReadonlyMap<number, RequestType> = new Map<number, RequestType>([
  [OP_CODE.create, writes('create', readCreate)],
  [OP_CODE.create2, writes('create', readCreate)],
  [OP_CODE.createContainer, writes('create', readCreate)],
  [OP_CODE.createTTL, writes('create', readCreateTtl)],
  [OP_CODE.delete, writes('delete', (reader) => readVersioned('delete', reader))],
  [OP_CODE.setData, writes('setData', (reader) => readSetData(reader, readPath(reader)))],
  [OP_CODE.setACL, writes('setACL', readSetAcl)],
  [OP_CODE.check, writes('check', (reader) => readVersioned('check', reader, readPath(reader)))],
  [OP_CODE.multi, writes('multi', (reader) => ({ kind: 'multi', parts: readParts(reader, readWritePart) }))],
  [OP_CODE.reconfig, writes('reconfig', () => ({ kind: 'reconfig' }))],
  [OP_CODE.deleteContainer, writes('deleteContainer', () => ({ kind: 'deleteContainer' }))],
  [OP_CODE.exists, reads('exists', (reader) => ({ kind: 'exists', ...readWatched(reader) }))],
  [OP_CODE.getData, reads('getData', readGetData)],
  [OP_CODE.getChildren, reads('getChildren', readGetChildren)],
  [OP_CODE.getChildren2, reads('getChildren', readGetChildren)],
  [OP_CODE.getACL, reads('getACL', (reader) => ({ kind: 'getACL', path: reader.string() }))],
  [OP_CODE.sync, reads('sync', (reader) => ({ kind: 'sync', path: reader.nullableString() }))],
  [
    OP_CODE.multiRead,
    reads('multiRead', (reader) => ({ kind: 'multiRead', parts: readParts(reader, readReadPart) })),
  ],
  [
    OP_CODE.removeWatches,
    reads('removeWatches', (reader) => ({
      kind: 'removeWatches',
      path: readPath(reader),
      type: reader.int32(),
    })),
  ],
  [OP_CODE.setWatches, reads('setWatches', readSetWatches)],
  [OP_CODE.ping, reads('ping', () => ({ kind: 'ping' }))],
  [OP_CODE.whoAmI, reads('whoAmI', () => ({ kind: 'whoAmI' }))],
  [OP_CODE.auth, reads('auth', readAuthentication)],
  [OP_CODE.sasl, reads('sasl', (reader) => ({ kind: 'sasl', token: readToken(reader) }))],
  [OP_CODE.closeSession, writes('closeSession', () => ({ kind: 'closeSession' }))],
]);

export const OPERATION_NAMES: readonly OperationName[] = [
  ...new Set([...REQUEST_TYPES.values()].map(({ name }) => name)),
];

/** A packet, as far as it can be read: without `operation` if its body is malformed, without `type` if its code is unknown. */
export interface ClientRequest {
  readonly xid: number;
  readonly type: RequestType | undefined;
  readonly operation: Operation | undefined;
}

/** @throws WireError if the packet is too short for a header */
export function readRequest(reader: WireReader): ClientRequest {
  const xid = reader.int32();
  const opCode = reader.int32();
  const type = REQUEST_TYPES.get(opCode);
  try {
    return { xid, type, operation: type?.decode(reader, opCode) };
  } catch (error) {
    if (error instanceof WireError) return { xid, type, operation: undefined };
    throw error;
  }
}

export function readConnectRequest(reader: WireReader): ConnectRequest {
  reader.int32(); // The protocol's version: always 0.
  const lastZxid = reader.int64();
  const timeoutMs = reader.int32();
  const sessionId = reader.int64();
  const password = readData(reader) ?? Buffer.alloc(PASSWORD_BYTES);
  const sendsReadOnlyFlag = reader.remaining > 0;
  return { lastZxid, timeoutMs, sessionId, password, sendsReadOnlyFlag };
}

function readAcl(reader: WireReader): GivenAcl[] | null {
  return reader.nullableVector(() => ({
    permissions: reader.int32(),
    scheme: reader.nullableString(),
    id: reader.nullableString(),
  }));
}

/** Data that outlive the packet are copied out of it: the packet may be a small part of a large chunk. */
function readData(reader: WireReader): Buffer | null {
  const bytes = reader.nullableBuffer();
  return bytes === null ? null : Buffer.from(bytes);
}

/** Where ZooKeeper refuses null as it refuses an empty path. Elsewhere it can't read such a request. */
function readPath(reader: WireReader): string {
  return reader.nullableString() ?? '';
}

function readCreate(reader: WireReader, opCode: number, path = reader.string()): Create {
  const [data, acl] = [readData(reader), readAcl(reader)];
  return { kind: 'create', opCode, path, data, acl, flags: reader.int32() };
}

function readCreateTtl(reader: WireReader, opCode: number): Create {
  const create = readCreate(reader, opCode, readPath(reader));
  reader.int64(); // The time to live: such a request is refused anyway.
  return create;
}

function readVersioned<K extends string>(kind: K, reader: WireReader, path = reader.string()): Versioned<K> {
  return { kind, path, version: reader.int32() };
}

function readSetData(reader: WireReader, path = reader.string()): SetData {
  return { kind: 'setData', path, data: readData(reader), version: reader.int32() };
}

function readSetAcl(reader: WireReader): SetAcl {
  return { kind: 'setACL', path: readPath(reader), acl: readAcl(reader), version: reader.int32() };
}

function readWatched(reader: WireReader) {
  return { path: reader.string(), watch: reader.bool() };
}

function readGetData(reader: WireReader): GetData {
  return { kind: 'getData', ...readWatched(reader) };
}

function readGetChildren(reader: WireReader, opCode: number): GetChildren {
  return { kind: 'getChildren', ...readWatched(reader), withStat: opCode === OP_CODE.getChildren2 };
}

function readSetWatches(reader: WireReader): SetWatches {
  return {
    kind: 'setWatches',
    sinceZxid: reader.int64(),
    data: readPaths(reader),
    exist: readPaths(reader),
    children: readPaths(reader),
  };
}

function readPaths(reader: WireReader): readonly string[] {
  const paths = reader.nullableVector(() => reader.string());
  if (paths === null) throw new WireError('no paths');
  return paths;
}

function readAuthentication(reader: WireReader): Authentication {
  reader.int32(); // A type that is not in use.
  return { kind: 'auth', scheme: reader.nullableString(), credentials: readData(reader) };
}

/** A token of length -1 makes ZooKeeper end the connection, as one that can't be read. */
function readToken(reader: WireReader): Buffer {
  const token = reader.nullableBuffer();
  if (token === null) throw new WireError('no token');
  return token;
}

/** The parts of a transaction: a header before each part, and one more header at the end. */
function readParts<T>(reader: WireReader, readPart: (opCode: number, reader: WireReader) => T): T[] {
  const parts: T[] = [];
  for (;;) {
    const opCode = reader.int32();
    const isEnd = reader.bool();
    reader.int32(); // An error code, which is used in answers only.
    if (isEnd) return parts;
    parts.push(readPart(opCode, reader));
  }
}

function readWritePart(opCode: number, reader: WireReader): NodeWrite {
  switch (opCode) {
    case OP_CODE.create:
    case OP_CODE.create2:
    case OP_CODE.createContainer:
      return readCreate(reader, opCode);
    case OP_CODE.createTTL:
      return readCreateTtl(reader, opCode);
    case OP_CODE.delete:
      return readVersioned('delete', reader);
    case OP_CODE.setData:
      return readSetData(reader);
    case OP_CODE.check:
      return readVersioned('check', reader);
    default:
      throw new WireError(`no such part of a transaction: ${opCode}`);
  }
}

function readReadPart(opCode: number, reader: WireReader): NodeRead {
  switch (opCode) {
    // A multi-read sets no watches, whatever its parts ask for.
    case OP_CODE.getData:
      return { ...readGetData(reader), watch: false };
    case OP_CODE.getChildren:
      return { ...readGetChildren(reader, opCode), watch: false };
    default:
      throw new WireError(`no such part of a read: ${opCode}`);
  }
}
