/// <reference path="./jute.d.ts" />
// Longer than 350 lines: 364; one function for each request, which share the buffer that they are written to.

import jute from 'node-zookeeper-client/lib/jute/index.js';
import type { ZooKeeperError as ServerError } from '../../errors.js';
import { ignore } from '../../platform/async/promises.js';
import { WireError, WireReader, WireWriter } from '../../wire/jute.js';
import type { Access, AccessEntry } from './acl.js';
import { ChildNames } from './child-names.js';
import { serverError } from './error-codes.js';
import * as records from './records.js';

/**
 * ZooKeeper's wire protocol: requests to bytes and bytes to replies, with `bigint` for 64-bit fields. The only file that
 * imports node-zookeeper-client: the first packets of a connection go through its codec. Nothing else of it is used: the
 * client's connection, retries, watches and transactions lose replies, versions and sometimes the process.
 */

/** A request, and how to read its answer. `path` is absolute, the chroot included. */
export interface Request<T> {
  readonly name: string;
  readonly path?: string | undefined;
  /** Written at once, with those before it; of several in one turn of the event loop only the first is: see `BatchWriter`. */
  readonly isUrgent?: boolean;
  encode(xid: number): Buffer;
  /** Reads the reply's body. @throws anything, if it isn't one. */
  decode(body: Buffer): T;
}

// In the answer to the handshake: after the protocol's version, the timeout and the session's id.
const PASSWORD_OFFSET = 16;
const XID_OFFSET = 4; // In a request: after its length.
const REPLY_HEADER_BYTES = 16; // Its xid, zxid and error code.
const WATCHES = { children: 1, data: 2 } as const; // The kind of watch to remove.
const NO_RESULTS: readonly records.PartResult[] = [];
const protocol = jute.protocol;
const out = new WireWriter(); // Each packet is copied from here when it is complete.

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

/** @param watch - whether a change is reported: of a node that doesn't exist, its creation */
export function existsRequest(path: string, watch = false): Request<records.Stat> {
  return request('exists', path, records.OP.exists, () => out.string(path).bool(watch), decodeStat);
}

export function getDataRequest(path: string, watch: boolean): Request<records.NodeData> {
  return request('getData', path, records.OP.getData, () => out.string(path).bool(watch), decodeNodeData);
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
 * All parts or none, in one committed write. Decoding a refused one throws a {@link TransactionError}.
 *
 * @param pathOf - what the caller calls a created node, given its absolute path
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
  const isUrgent = parts.some(({ kind }) => kind !== 'check'); // Mostly a claim or a release, for which other contenders wait.
  return request('multi', undefined, records.OP.multi, write, decode, isUrgent);
}

/** What of a part its outcome needs. */
type Subject = Pick<records.TransactionPart, 'kind' | 'path'>;

/** Keeps no more than that until the answer comes: a closure beside the one that writes would keep the data. */
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
 * A heartbeat's transaction: it checks that nodes exist, and may raise versions. It may be sent any number of times, and is
 * encoded once. The answer to checks alone is no results.
 */
export function heartbeatRequest(
  parts: readonly records.TransactionPart[],
  access: Access,
): Request<readonly records.PartResult[]> {
  const multi = encodedNow(multiRequest(parts, access));
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

/** A transaction that is ready to be sent. */
export type PreparedTransaction = Request<records.PartResult[]>;

/** The same request, encoded now. It may be sent any number of times. */
export function encodedNow<T>(request: Request<T>): Request<T> {
  const frame = request.encode(0);
  const encoded = Buffer.allocUnsafeSlow(frame.length); // A small buffer of the usual kind keeps 8 KiB that others have left.
  frame.copy(encoded);
  return {
    name: request.name,
    path: request.path,
    isUrgent: request.isUrgent === true,
    decode: request.decode,
    encode: (xid) => {
      const bytes = Buffer.from(encoded); // The system may not have read the former one yet.
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

/** What of a path is watched: the node and its data, or the list of its children. */
export type WatchKind = keyof typeof WATCHES;

/** Watches of one kind, as many as fit a request. */
export interface WatchPortion {
  readonly kind: WatchKind;
  readonly paths: string[];
}

/** Has a server watch what the session's former server watched. */
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

export const PING_XID = jute.XID_PING;
export const AUTH_XID = jute.XID_AUTHENTICATION;
export const EVENT_XID = jute.XID_NOTIFICATION;

const PING = new jute.Request(new protocol.RequestHeader(PING_XID, jute.OP_CODES.PING), null).toBuffer();

export function encodePing(): Buffer {
  return PING;
}

export function encodeAuth(scheme: string, credentials: string): Buffer {
  const payload = new protocol.AuthPacket(0, scheme, Buffer.from(credentials));
  return new jute.Request(new protocol.RequestHeader(AUTH_XID, jute.OP_CODES.AUTH), payload).toBuffer();
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
  const payload = new protocol.ConnectRequest(
    jute.PROTOCOL_VERSION,
    toBuffer(lastZxid),
    timeoutMs,
    toBuffer(id),
    password,
  );
  return new jute.Request(null, payload).toBuffer();
}

/** The server's answer. A `timeoutMs` of 0 says that the session has ended. */
export interface HandshakeReply {
  readonly id: bigint;
  readonly password: Buffer;
  readonly timeoutMs: number;
}

export function decodeHandshake(frame: Buffer): HandshakeReply {
  checkLength(frame, PASSWORD_OFFSET);
  const response = read(new protocol.ConnectResponse(), frame);
  const { sessionId, passwd, timeOut: timeoutMs } = response;
  // The codec reads a length of -1 as nothing at all.
  return { id: sessionId.readBigInt64BE(0), password: passwd ?? Buffer.alloc(0), timeoutMs };
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

/** What a watch reports: the node is gone, or it may have changed and has to be read. */
export type Change = 'deleted' | 'changed';

const NODE_CREATED = 1;
const NODE_DELETED = 2;
const CHILDREN_CHANGED = 4;

export interface WatchEvent {
  readonly path: string;
  /**
   * `created` is reported to none that has read the node, but to watches for nodes that didn't exist; `children` to those that have listed
   * its children, `deleted` to all.
   */
  readonly change: Change | 'created' | 'children';
}

/** Read by hand: the next contender in the queue waits for an event. @throws WireError */
export function decodeEvent(body: Buffer): WatchEvent {
  const event = new WireReader(body);
  const type = event.int32();
  event.skip(4); // The session's state, which the connection knows better.
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

// Not made for each request: a decoder is kept until the answer comes, and would keep the request's data.
const decodeNothing = () => undefined;
export const decodePath = decoder((body) => body.string());
const decodeStat = decoder(records.readStat);
const decodeNodeData = decoder(records.readNodeData);
const decodeNames = (body: Buffer) => new ChildNames(body);
const decodeAccess = decoder(records.readAccess);

function decoder<T>(readBody: (body: WireReader) => T): (body: Buffer) => T {
  return (body) => readBody(new WireReader(body));
}

/** @throws RangeError if the record is longer than the bytes: the codec reads zeros after their end. */
function read<R extends { deserialize(buffer: Buffer, offset: number): number }>(
  record: R,
  bytes: Buffer,
): R {
  const length = record.deserialize(bytes, 0);
  if (length > bytes.length) throw new RangeError(`${length} bytes expected, ${bytes.length} there`);
  return record;
}

/** Before the codec allocates a byte array of that length. @throws RangeError */
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
