/// <reference path="./jute.d.ts" />

import {
  BadVersionError,
  NodeExistsError,
  NoNodeError,
  type ZooKeeperError as ServerError,
  ZooKeeperError,
} from '../errors.js';
import { jute } from '../packages.cjs';
import { type Access, type AccessEntry, entriesOf } from './access.js';

/**
 * ZooKeeper's wire protocol: requests to bytes and bytes to replies, with `bigint` for 64-bit fields.
 *
 * The only file that imports node-zookeeper-client. It takes the codec and leaves the rest: the client's connection,
 * retries, watches and transactions lose replies, versions and sometimes the process.
 */

/** What ZooKeeper keeps about a node. Times are the servers', in milliseconds of the epoch. */
export interface Stat {
  /** The transaction that created the node. */
  readonly czxid: bigint;
  /** The transaction that last wrote its data. */
  readonly mzxid: bigint;
  readonly createdAtMs: number;
  readonly modifiedAtMs: number;
  /** How often its data was written since it was created. */
  readonly version: number;
  /** The id of the session that it goes with; 0 for a persistent node. */
  readonly ephemeralOwner: bigint;
  readonly numChildren: number;
}

/** A node's data and stat, from the same moment. */
export interface NodeData {
  readonly data: Buffer;
  readonly stat: Stat;
}

export type CreateMode = 'persistent' | 'ephemeral' | 'ephemeral-sequential';

/** One part of a transaction. A `version` of -1 fits any. */
export type TransactionPart =
  | { readonly kind: 'check'; readonly path: string; readonly version?: number }
  | { readonly kind: 'create'; readonly path: string; readonly data?: Uint8Array; readonly mode?: CreateMode }
  | { readonly kind: 'set'; readonly path: string; readonly data: Uint8Array; readonly version?: number }
  | { readonly kind: 'delete'; readonly path: string; readonly version?: number };

/** What a part of a committed transaction did: the stat of a `set`, the final path of a `create`. */
export interface PartResult {
  readonly path?: string;
  readonly stat?: Stat;
}

/** Something to ask a server, and how to read the answer. `path` is absolute, the chroot included. */
export interface Request<T> {
  readonly name: string;
  readonly path?: string;
  encode(xid: number): Buffer;
  /** Reads the reply's body. @throws anything, if it isn't one. */
  decode(body: Buffer): T;
}

export const ANY_VERSION = -1;
const NOT_CHECKED = undefined;
const FLAGS: Record<CreateMode, number> = { persistent: 0, ephemeral: 1, 'ephemeral-sequential': 3 };
// In the answer to the handshake: after the protocol's version, the timeout and the session's id.
const PASSWORD_OFFSET = 16;
// In a request: after its length.
const XID_OFFSET = 4;
// Its xid, zxid and error code.
const REPLY_HEADER_BYTES = 16;
// Both since ZooKeeper 3.5: the operation, and its kind of watch.
const REMOVE_WATCHES = 18;
const DATA_WATCHES = 2;
const codes = jute.OP_CODES;
const protocol = jute.protocol;

export function createRequest(path: string, data: Buffer, mode: CreateMode, access: Access): Request<string> {
  return request(
    'create',
    path,
    codes.CREATE,
    new protocol.CreateRequest(path, data, acl(access), FLAGS[mode]),
    (body) => read(new protocol.CreateResponse(), body).path,
  );
}

export function deleteRequest(path: string, version = ANY_VERSION): Request<void> {
  return request('delete', path, codes.DELETE, new protocol.DeleteRequest(path, version), () => NOT_CHECKED);
}

export function existsRequest(path: string): Request<Stat> {
  return request('exists', path, codes.EXISTS, new protocol.ExistsRequest(path, false), (body) => {
    return toStat(read(new protocol.ExistsResponse(), body).stat);
  });
}

export function getDataRequest(path: string, watch: boolean): Request<NodeData> {
  return request('getData', path, codes.GET_DATA, new protocol.GetDataRequest(path, watch), (body) => {
    checkLength(body, 0);
    const { data, stat } = read(new protocol.GetDataResponse(), body);
    return { data: data ?? Buffer.alloc(0), stat: toStat(stat) };
  });
}

export function getChildrenRequest(path: string): Request<string[]> {
  const payload = new protocol.GetChildren2Request(path, false);
  return request('getChildren', path, codes.GET_CHILDREN2, payload, (body) => {
    return read(new protocol.GetChildren2Response(), body).children ?? [];
  });
}

export function getAclRequest(path: string): Request<AccessEntry[]> {
  return request('getACL', path, codes.GET_ACL, new protocol.GetACLRequest(path), (body) => {
    const entries = read(new protocol.GetACLResponse(), body).acl ?? [];
    return entries.map(({ perms, id }) => ({ scheme: id.scheme, id: id.id, permissions: perms }));
  });
}

export function setDataRequest(path: string, data: Buffer, version = ANY_VERSION): Request<Stat> {
  return request('setData', path, codes.SET_DATA, new protocol.SetDataRequest(path, data, version), (body) =>
    toStat(read(new protocol.SetDataResponse(), body).stat),
  );
}

/** All parts or none, in one committed write. Decoding a refused one throws a {@link TransactionError}. */
export function multiRequest(parts: readonly TransactionPart[], access: Access): Request<PartResult[]> {
  // The client's own builder turns version 0 into "any version": the operations are made here instead.
  const payload = new jute.TransactionRequest(parts.map((part) => toOperation(part, access)));
  return request('multi', undefined, codes.MULTI, payload, (body) => {
    const response = read(new jute.TransactionResponse(), body);
    // Of a refused transaction every part is an error: 0 before the one at fault, "runtime inconsistency" after it.
    const failed = response.results.findIndex((result) => result.type === codes.ERROR && result.err !== 0);
    const code = response.results[failed]?.err;
    if (code !== undefined)
      throw new TransactionError(
        failed,
        serverError(code, `multi[${parts[failed]?.kind}]`, parts[failed]?.path),
      );
    return response.results.map(({ path, stat }) => ({
      ...(path !== undefined && { path }),
      ...(stat !== undefined && { stat: toStat(stat) }),
    }));
  });
}

/** A transaction that checks that nodes are there: it may be sent any number of times, and is encoded once. */
export function checksRequest(paths: readonly string[]): Request<void> {
  const checks = multiRequest(
    paths.map((path) => ({ kind: 'check', path })),
    'world',
  );
  let encoded: Buffer | undefined;
  return {
    ...checks,
    encode: (xid) => {
      encoded ??= checks.encode(0);
      const bytes = Buffer.from(encoded); // The one before it may still be on its way to the system.
      bytes.writeInt32BE(xid, XID_OFFSET);
      return bytes;
    },
    decode: (body) => {
      // Of a refused transaction every part is an error: if the first one isn't, there is nothing else to learn.
      if (body.length < 4 || body.readInt32BE(0) !== codes.CHECK) checks.decode(body);
    },
  };
}

/** A transaction was refused: `failedPart` is the index of the part at fault, `error` what was wrong with it. */
export class TransactionError extends Error {
  constructor(
    readonly failedPart: number,
    readonly error: ServerError,
  ) {
    super(error.message);
  }
}

export function closeSessionRequest(): Request<void> {
  return request('closeSession', undefined, codes.CLOSE_SESSION, null, () => NOT_CHECKED);
}

/** Asks a server that the session moved to to watch what the one before it watched. */
export function setWatchesRequest(lastZxid: bigint, dataPaths: string[]): Request<void> {
  const payload = new protocol.SetWatches(toBuffer(lastZxid), dataPaths, [], []);
  return request('setWatches', undefined, codes.SET_WATCHES, payload, () => NOT_CHECKED);
}

/** Has a server forget that this session watches the data of a path. */
export function removeWatchRequest(path: string): Request<void> {
  // The codec has no such request; its parts are those of a deletion: a path and a number.
  const payload = new protocol.DeleteRequest(path, DATA_WATCHES);
  return request('removeWatches', path, REMOVE_WATCHES, payload, () => NOT_CHECKED);
}

export const PING_XID = jute.XID_PING;
export const AUTH_XID = jute.XID_AUTHENTICATION;
export const EVENT_XID = jute.XID_NOTIFICATION;

const PING = new jute.Request(new protocol.RequestHeader(PING_XID, codes.PING), null).toBuffer();

export function encodePing(): Buffer {
  return PING;
}

export function encodeAuth(scheme: string, credentials: string): Buffer {
  const payload = new protocol.AuthPacket(0, scheme, Buffer.from(credentials));
  return new jute.Request(new protocol.RequestHeader(AUTH_XID, codes.AUTH), payload).toBuffer();
}

/** What makes a connection part of a session. An `id` of 0 asks for a new one. */
export interface Handshake {
  readonly id: bigint;
  readonly password: Buffer;
  readonly timeoutMs: number;
  readonly lastZxid: bigint;
}

export const NEW_SESSION = { id: 0n, password: Buffer.alloc(16), lastZxid: 0n } as const;

export function encodeHandshake({ id, password, timeoutMs, lastZxid }: Handshake): Buffer {
  const payload = new protocol.ConnectRequest(
    jute.PROTOCOL_VERSION,
    toBuffer(lastZxid),
    timeoutMs,
    toBuffer(id),
    password,
  );
  return new jute.Request(null, payload).toBuffer();
}

/** The server's answer. A `timeoutMs` of 0 says that the session is over. */
export interface HandshakeReply {
  readonly id: bigint;
  readonly password: Buffer;
  readonly timeoutMs: number;
}

export function decodeHandshake(frame: Buffer): HandshakeReply {
  checkLength(frame, PASSWORD_OFFSET);
  const response = read(new protocol.ConnectResponse(), frame);
  return { id: toBigInt(response.sessionId), password: response.passwd, timeoutMs: response.timeOut };
}

export interface ReplyHeader {
  readonly xid: number;
  readonly zxid: bigint;
  readonly errorCode: number;
  readonly body: Buffer;
}

/** Read by hand, because each reply has one: the codec would copy it field by field. @throws RangeError */
export function decodeReply(frame: Buffer): ReplyHeader {
  if (frame.length < REPLY_HEADER_BYTES) throw new RangeError(`a reply of ${frame.length} bytes`);
  return {
    xid: frame.readInt32BE(0),
    zxid: frame.readBigInt64BE(4),
    errorCode: frame.readInt32BE(12),
    body: frame.subarray(REPLY_HEADER_BYTES),
  };
}

/** What a watch tells of a node: that it is gone, or that something else about it may be different, to be read. */
export type Change = 'deleted' | 'changed';

const NODE_DELETED = 2;

/** A server tells of a node that was watched. */
export interface WatchEvent {
  readonly path: string;
  readonly change: Change;
}

export function decodeEvent(body: Buffer): WatchEvent {
  const { path, type } = read(new protocol.WatcherEvent(), body);
  return { path, change: type === NODE_DELETED ? 'deleted' : 'changed' };
}

// Names from ZooKeeper's KeeperException.Code; a code that isn't here is reported by its number.
const ERROR_NAMES: Readonly<Record<number, string>> = {
  [-1]: 'SYSTEM_ERROR',
  [-2]: 'RUNTIME_INCONSISTENCY',
  [-3]: 'DATA_INCONSISTENCY',
  [-4]: 'CONNECTION_LOSS',
  [-5]: 'MARSHALLING_ERROR',
  [-6]: 'UNIMPLEMENTED',
  [-7]: 'OPERATION_TIMEOUT',
  [-8]: 'BAD_ARGUMENTS',
  [-13]: 'NEW_CONFIG_NO_QUORUM',
  [-14]: 'RECONFIG_IN_PROGRESS',
  [-100]: 'API_ERROR',
  [-101]: 'NO_NODE',
  [-102]: 'NO_AUTH',
  [-103]: 'BAD_VERSION',
  [-108]: 'NO_CHILDREN_FOR_EPHEMERALS',
  [-110]: 'NODE_EXISTS',
  [-111]: 'NOT_EMPTY',
  [-112]: 'SESSION_EXPIRED',
  [-113]: 'INVALID_CALLBACK',
  [-114]: 'INVALID_ACL',
  [-115]: 'AUTH_FAILED',
  [-118]: 'SESSION_MOVED',
  [-119]: 'NOT_READ_ONLY',
  [-120]: 'EPHEMERAL_ON_LOCAL_SESSION',
  [-121]: 'NO_WATCHER',
  [-122]: 'REQUEST_TIMEOUT',
  [-123]: 'RECONFIG_DISABLED',
  [-124]: 'SESSION_CLOSED_REQUIRE_SASL_AUTH',
  [-125]: 'QUOTA_EXCEEDED',
  [-127]: 'THROTTLED_OP',
};

export const SESSION_EXPIRED_CODE = -112;
export const SESSION_MOVED_CODE = -118;

export function serverError(code: number, operation: string, path?: string): ServerError {
  const name = ERROR_NAMES[code] ?? 'UNKNOWN';
  switch (name) {
    case 'NO_NODE':
      return new NoNodeError(code, name, operation, path);
    case 'NODE_EXISTS':
      return new NodeExistsError(code, name, operation, path);
    case 'BAD_VERSION':
      return new BadVersionError(code, name, operation, path);
    default:
      return new ZooKeeperError(code, name, operation, path);
  }
}

function request<T>(
  name: string,
  path: string | undefined,
  type: number,
  payload: unknown,
  decode: (body: Buffer) => T,
): Request<T> {
  return {
    name,
    ...(path !== undefined && { path }),
    encode: (xid) => new jute.Request(new protocol.RequestHeader(xid, type), payload).toBuffer(),
    decode,
  };
}

/** @throws RangeError if the record ends after the bytes do: the codec fills up with zeros what isn't there. */
function read<R extends { deserialize(buffer: Buffer, offset: number): number }>(
  record: R,
  bytes: Buffer,
): R {
  const length = record.deserialize(bytes, 0);
  if (length > bytes.length) throw new RangeError(`${length} bytes expected, ${bytes.length} there`);
  return record;
}

/** Before the codec takes the length of a byte array for true, and so much memory. @throws RangeError */
function checkLength(bytes: Buffer, offset: number): void {
  const length = bytes.readInt32BE(offset);
  if (length < -1 || length > bytes.length - offset - 4)
    throw new RangeError(`a byte array of ${length} bytes in ${bytes.length}`);
}

function toOperation(part: TransactionPart, access: Access) {
  const { path } = part;
  switch (part.kind) {
    case 'check':
      return { type: codes.CHECK, path, version: part.version ?? ANY_VERSION };
    case 'delete':
      return { type: codes.DELETE, path, version: part.version ?? ANY_VERSION };
    case 'set':
      return {
        type: codes.SET_DATA,
        path,
        data: Buffer.from(part.data),
        version: part.version ?? ANY_VERSION,
      };
    case 'create': {
      const acls = acl(access).map((record) => ({ toRecord: () => record }));
      return {
        type: codes.CREATE,
        path,
        data: Buffer.from(part.data ?? []),
        acls,
        mode: FLAGS[part.mode ?? 'persistent'],
      };
    }
  }
}

function acl(access: Access) {
  return entriesOf(access).map(
    ({ scheme, id, permissions }) => new jute.data.ACL(permissions, new jute.data.Id(scheme, id)),
  );
}

function toStat(record: {
  czxid: Buffer;
  mzxid: Buffer;
  ctime: Buffer;
  mtime: Buffer;
  version: number;
  ephemeralOwner: Buffer;
  numChildren: number;
}): Stat {
  return {
    czxid: toBigInt(record.czxid),
    mzxid: toBigInt(record.mzxid),
    createdAtMs: Number(toBigInt(record.ctime)),
    modifiedAtMs: Number(toBigInt(record.mtime)),
    version: record.version,
    ephemeralOwner: toBigInt(record.ephemeralOwner),
    numChildren: record.numChildren,
  };
}

function toBigInt(buffer: Buffer): bigint {
  return buffer.readBigInt64BE(0);
}

function toBuffer(value: bigint): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigInt64BE(value);
  return buffer;
}
