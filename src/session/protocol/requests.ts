/// <reference path="./jute.d.ts" />

import jute from 'node-zookeeper-client/lib/jute/index.js';
import type { ZooKeeperError as ServerError } from '../../errors.js';
import { ignore } from '../../platform/async/promises.js';
import { WireError, WireReader, WireWriter } from '../../wire/jute.js';
import type { Access, AccessEntry } from './acl.js';
import { ChildNames } from './child-names.js';
import { SASL, serverError } from './error-codes.js';
import { AUTH_XID, XID_OFFSET } from './frame-layout.js';
import * as records from './multi-and-stats.js';

/**
 * ZooKeeper's wire protocol: turns requests into bytes and bytes into replies, with `bigint` for 64-bit fields. Only this file
 * imports node-zookeeper-client, whose codec encodes the first packets of a connection. Conclave uses no other part of that
 * client: its connection, retries, watches and transactions lose replies, versions and sometimes the process.
 */

/** A request, and how to read its answer. `path` is absolute, with the chroot. */
export interface Request<T> {
  readonly name: string;
  readonly path?: string | undefined;
  /**
   * Whether to write the request at once, together with the earlier ones. Of several in one turn of the event loop only the first
   * is written at once, see `BatchWriter`.
   */
  readonly isUrgent?: boolean;
  encode(xid: number): Buffer;
  /** Reads the reply's body. @throws any error if the body can't be read. */
  decode(body: Buffer): T;
}

// The place in the answer to the handshake, after the protocol's version, the timeout and the session's id.
const PASSWORD_OFFSET = 16;
const WATCHES = { children: 1, data: 2 } as const; // The codes of the kinds of watches that can be removed.
const NO_RESULTS: readonly records.PartResult[] = [];
const protocol = jute.protocol;
const out = new WireWriter(); // Each packet is copied from this buffer when it is complete.

/** @param decode - reads the created node's path from the answer */
export function createRequest(
  path: string,
  data: Buffer,
  mode: records.CreateMode,
  access: Access,
  decode = decodePath,
): Request<string> {
  const write = () => records.writePart(out, { kind: 'create', path, data, mode }, access);
  return request('create', path, records.OP.create, write, decode);
}

export function deleteRequest(path: string, version = records.ANY_VERSION): Request<void> {
  const write = () => out.string(path).int32(version);
  return request('delete', path, records.OP.delete, write, decodeNothing, true);
}

/** @param watch - whether the next change is reported. If the node doesn't exist, that is its creation */
export function existsRequest(path: string, watch = false): Request<records.Stat> {
  return request('exists', path, records.OP.exists, () => out.string(path).bool(watch), decodeStat);
}

export function getDataRequest(path: string, watch: boolean): Request<records.NodeData> {
  return request('getData', path, records.OP.getData, () => out.string(path).bool(watch), decodeNodeData);
}

/** Reads several nodes at one moment. The answer has an error in the place of each node that the server refuses to show. */
export function getDataOfEachRequest(paths: readonly string[]): Request<(records.NodeData | ServerError)[]> {
  const decode = (body: Buffer) => {
    const outcomes = records.readReadOutcomes(new WireReader(body));
    if (outcomes.length !== paths.length)
      throw new WireError(`${outcomes.length} outcomes of ${paths.length} reads`);
    return outcomes.map((outcome, at) =>
      'errorCode' in outcome ? serverError(outcome.errorCode, 'getData', paths[at]) : outcome,
    );
  };
  return request('multiRead', undefined, records.OP.multiRead, () => records.writeReads(out, paths), decode);
}

/** @param watch - whether the next change of the list is reported */
export function getChildrenRequest(path: string, isUrgent = false, watch = false): Request<ChildNames> {
  const write = () => out.string(path).bool(watch);
  return request('getChildren', path, records.OP.getChildren, write, decodeNames, isUrgent);
}

export function setDataRequest(
  path: string,
  data: Buffer,
  version = records.ANY_VERSION,
): Request<records.Stat> {
  const write = () => out.string(path).buffer(data).int32(version);
  return request('setData', path, records.OP.setData, write, decodeStat);
}

/**
 * A transaction: all parts or none, in one committed write. If it was refused, decoding the answer throws a {@link TransactionError}.
 *
 * @param pathOf - gives the caller's path of a created node, by its absolute path
 */
export function multiRequest(
  parts: readonly records.TransactionPart[],
  access: Access,
  pathOf = (absolute: string) => absolute,
): Request<records.PartResult[]> {
  const write = () => records.writeParts(out, parts, access);
  const decode = resultsDecoder(
    parts.map(({ kind, path }) => ({ kind, path })),
    pathOf,
  );
  const isUrgent = parts.some(({ kind }) => kind !== 'check'); // It is mostly a claim or a release, for which other contenders wait.
  return request('multi', undefined, records.OP.multi, write, decode, isUrgent);
}

/** The fields of a part that its outcome needs. */
type Subject = Pick<records.TransactionPart, 'kind' | 'path'>;

/**
 * A function of its own, so that only these fields are kept until the answer comes. A closure beside the one that writes would
 * keep the data.
 */
function resultsDecoder(subjects: readonly Subject[], pathOf: (absolute: string) => string) {
  return (body: Buffer) => resultsOf(subjects, records.readOutcomes(new WireReader(body)), pathOf);
}

function resultsOf(
  parts: readonly Subject[],
  outcomes: readonly records.PartOutcome[],
  pathOf: (absolute: string) => string,
): records.PartResult[] {
  if (outcomes.length !== parts.length)
    throw new WireError(`${outcomes.length} outcomes of ${parts.length} parts`);
  // In a refused transaction every part is an error: 0 before the part at fault, "runtime inconsistency" after it.
  for (const [index, outcome] of outcomes.entries()) {
    if (!('errorCode' in outcome) || outcome.errorCode === 0) continue;
    const { kind, path } = parts[index] as Subject;
    throw new TransactionError(index, serverError(outcome.errorCode, `multi[${kind}]`, path));
  }
  return outcomes.map((outcome) => {
    if ('errorCode' in outcome) throw new WireError('a transaction that was refused for no reason');
    return outcome.path === undefined ? outcome : { ...outcome, path: pathOf(outcome.path) };
  });
}

/**
 * A heartbeat's transaction. It checks that nodes exist, and may raise versions. It is encoded once and may be sent any number of
 * times. If it has only checks, the answer has no results.
 */
export function heartbeatRequest(
  parts: readonly records.TransactionPart[],
): Request<readonly records.PartResult[]> {
  const multi = encodedNow(multiRequest(parts, 'world')); // It creates no node, so it needs no access list.
  const isChecks = parts.every(({ kind }) => kind === 'check');
  return {
    ...multi,
    isUrgent: false,
    decode: (body) => {
      // In a refused transaction every part is an error: if the first isn't, no part is.
      const isCommitted = body.length >= 4 && body.readInt32BE(0) === records.OP.check;
      return isChecks && isCommitted ? NO_RESULTS : multi.decode(body);
    },
  };
}

/** The same request, encoded now. It may be sent any number of times. */
function encodedNow<T>(request: Request<T>): Request<T> {
  const frame = request.encode(0);
  const encoded = Buffer.allocUnsafeSlow(frame.length); // A small buffer of the usual kind would keep a shared pool of 8 KiB alive.
  frame.copy(encoded);
  return {
    name: request.name,
    path: request.path,
    isUrgent: request.isUrgent === true,
    decode: request.decode,
    encode: (xid) => {
      const bytes = Buffer.from(encoded); // The system may not have read the previous copy yet.
      bytes.writeInt32BE(xid, XID_OFFSET);
      return bytes;
    },
  };
}

/** A transaction was refused: `failedPart` is the index of the part at fault, `error` is its error. */
export class TransactionError extends Error {
  constructor(
    readonly failedPart: number,
    readonly error: ServerError,
  ) {
    super(error.message);
  }
}

export function getAclRequest(path: string): Request<AccessEntry[]> {
  return request('getACL', path, records.OP.getAcl, () => out.string(path), decodeAccess);
}

export function closeSessionRequest(): Request<void> {
  return request('closeSession', undefined, records.OP.closeSession, ignore, decodeNothing);
}

/** The part of a path that is watched: the node and its data, or the list of its children. */
export type WatchKind = keyof typeof WATCHES;

/** Watches of one kind, as many as fit in a request. */
export interface WatchPortion {
  readonly kind: WatchKind;
  readonly paths: string[];
}

/** Has a server watch the paths that the session's former server watched. */
export function setWatchesRequest(
  sinceZxid: bigint,
  paths: string[],
  kind: WatchKind = 'data',
): Request<void> {
  const [data, children] = kind === 'data' ? [paths, []] : [[], paths];
  const payload = new protocol.SetWatches(toBuffer(sinceZxid), data, [], children);
  const encode = (xid: number) =>
    new jute.Request(new protocol.RequestHeader(xid, records.OP.setWatches), payload).toBuffer();
  return { name: 'setWatches', encode, decode: decodeNothing };
}

export function removeWatchRequest(path: string, kind: WatchKind = 'data'): Request<void> {
  const write = () => out.string(path).int32(WATCHES[kind]);
  return request('removeWatches', path, records.OP.removeWatches, write, decodeNothing);
}

export function encodeAuth(scheme: string, credentials: string): Buffer {
  const payload = new protocol.AuthPacket(0, scheme, Buffer.from(credentials));
  return new jute.Request(new protocol.RequestHeader(AUTH_XID, jute.OP_CODES.AUTH), payload).toBuffer();
}

/** Sends a token of SASL. The answer is the server's token; `null` if its reply has none. */
export function saslRequest(token: Uint8Array): Request<Buffer | null> {
  return request(SASL, undefined, records.OP.sasl, () => out.buffer(token), decodeToken);
}

/** Makes a connection part of a session. An `id` of 0 asks for a new session. */
export interface Handshake {
  readonly id: bigint;
  readonly password: Buffer;
  readonly timeoutMs: number;
  readonly lastZxid: bigint;
}

export const NEW_SESSION = { id: 0n, password: Buffer.alloc(16), lastZxid: 0n } as const;

export function encodeHandshake({ id, password, timeoutMs, lastZxid }: Handshake): Buffer {
  out.begin().int32(jute.PROTOCOL_VERSION).int64(lastZxid).int32(timeoutMs).int64(id).buffer(password);
  // The session doesn't do with reading only. Servers log a warning at each connection of a client that says nothing of it.
  return out.bool(false).frame();
}

/**
 * The server's answer. A `timeoutMs` of 0 means that the session has ended. Another `protocolVersion` than 0 means that the server takes no
 * session now: ClickHouse Keeper says so while it starts.
 */
export interface HandshakeReply {
  readonly protocolVersion: number;
  readonly id: bigint;
  readonly password: Buffer;
  readonly timeoutMs: number;
}

export function decodeHandshake(frame: Buffer): HandshakeReply {
  checkLength(frame, PASSWORD_OFFSET);
  const response = read(new protocol.ConnectResponse(), frame);
  const { sessionId, passwd, timeOut: timeoutMs } = response;
  // The codec reads a buffer of the length -1 as `undefined`.
  const id = sessionId.readBigInt64BE(0);
  return { protocolVersion: frame.readInt32BE(0), id, password: passwd ?? Buffer.alloc(0), timeoutMs };
}

/** What a watch reports. `deleted`: the node is gone. `changed`: it may have changed, so read it again. */
export type Change = 'deleted' | 'changed';

const NODE_CREATED = 1;
const NODE_DELETED = 2;
const CHILDREN_CHANGED = 4;

export interface WatchEvent {
  readonly path: string;
  /**
   * `created` goes to watches for nodes that didn't exist, `children` to watches that a listing of children has set, and
   * `deleted` to all watches.
   */
  readonly change: Change | 'created' | 'children';
}

/** Reads an event, by hand because the next contender in the queue waits for it. @throws WireError */
export function decodeEvent(body: Buffer): WatchEvent {
  const event = new WireReader(body);
  const type = event.int32();
  event.skip(4); // The session's state, which the connection knows anyway.
  const path = event.string();
  if (type === NODE_CREATED) return { path, change: 'created' };
  if (type === CHILDREN_CHANGED) return { path, change: 'children' };
  return { path, change: type === NODE_DELETED ? 'deleted' : 'changed' };
}

/** @param write - writes what comes after the header */
function request<T>(
  name: string,
  path: string | undefined,
  type: number,
  write: () => void,
  decode: (body: Buffer) => T,
  isUrgent = false,
): Request<T> {
  return {
    name,
    path,
    isUrgent,
    encode: (xid) => {
      out.begin().int32(xid).int32(type);
      write();
      return out.frame();
    },
    decode,
  };
}

// It isn't made for each request: a decoder stays until the answer comes, and would keep the request's data.
const decodeNothing = () => undefined;
export const decodePath = decoder((body) => body.string());
const decodeStat = decoder(records.readStat);
const decodeNodeData = decoder(records.readNodeData);
// A copy: a mechanism may keep it, and the packet has all that the server has sent.
const decodeToken = decoder((body) => {
  const token = body.nullableBuffer();
  return token === null ? null : Buffer.from(token);
});
const decodeNames = (body: Buffer) => new ChildNames(body);
const decodeAccess = decoder(records.readAccess);

function decoder<T>(readBody: (body: WireReader) => T): (body: Buffer) => T {
  return (body) => readBody(new WireReader(body));
}

/** @throws RangeError if the record is longer than the bytes, since the codec reads zeros after their end. */
function read<R extends { deserialize(buffer: Buffer, offset: number): number }>(
  record: R,
  bytes: Buffer,
): R {
  const length = record.deserialize(bytes, 0);
  if (length > bytes.length) throw new RangeError(`${length} bytes expected, ${bytes.length} there`);
  return record;
}

/** Checks the length of a byte array before the codec allocates it. @throws RangeError */
function checkLength(bytes: Buffer, offset: number): void {
  const length = bytes.readInt32BE(offset);
  if (length < -1 || length > bytes.length - offset - 4)
    throw new RangeError(`a byte array of ${length} bytes in ${bytes.length}`);
}

function toBuffer(value: bigint): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigInt64BE(value);
  return buffer;
}
