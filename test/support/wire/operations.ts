import { type Reader, Writer } from './jute.mjs';
import { OPERATION, XID } from './protocol.mjs';

/** All operations of a server: how each request is written, and how its answer is read. */

export interface Operation<T> {
  readonly type: number;
  /** The number in its header, if that is fixed. */
  readonly xid?: number;
  readonly body: Buffer;
  readonly decode: (reader: Reader) => T;
}

export const MODE = {
  persistent: 0,
  ephemeral: 1,
  sequential: 2,
  ephemeralSequential: 3,
  container: 4,
  ttl: 5,
} as const;

export const PERMISSION = { read: 1, write: 2, create: 4, delete: 8, admin: 16, all: 31 } as const;

export const WATCH = { children: 1, data: 2, any: 3 } as const;

export const ANY_VERSION = -1;

export interface Stat {
  readonly czxid: bigint;
  readonly mzxid: bigint;
  readonly ctime: bigint;
  readonly mtime: bigint;
  readonly version: number;
  readonly cversion: number;
  readonly aversion: number;
  readonly ephemeralOwner: bigint;
  readonly dataLength: number;
  readonly numChildren: number;
  readonly pzxid: bigint;
}

export interface AclEntry {
  readonly permissions: number;
  readonly scheme: string;
  readonly id: string;
}

export const OPEN: readonly AclEntry[] = [{ permissions: PERMISSION.all, scheme: 'world', id: 'anyone' }];
export const CREATOR_ALL: readonly AclEntry[] = [{ permissions: PERMISSION.all, scheme: 'auth', id: '' }];

/** One entry for all clients. */
export function world(permissions: number): AclEntry[] {
  return [{ permissions, scheme: 'world', id: 'anyone' }];
}

function readStat(reader: Reader): Stat {
  return {
    czxid: reader.long(),
    mzxid: reader.long(),
    ctime: reader.long(),
    mtime: reader.long(),
    version: reader.int(),
    cversion: reader.int(),
    aversion: reader.int(),
    ephemeralOwner: reader.long(),
    dataLength: reader.int(),
    numChildren: reader.int(),
    pzxid: reader.long(),
  };
}

const nothing = () => undefined;
const path = (reader: Reader) => reader.string();
const strings = (reader: Reader) => reader.vector(() => reader.string() as string);
const dataAndStat = (reader: Reader) => ({ data: reader.buffer(), stat: readStat(reader) });
const pathAndStat = (reader: Reader) => ({ path: reader.string(), stat: readStat(reader) });

function writeAcl(writer: Writer, entries: readonly AclEntry[]): Writer {
  return writer.vector(entries, ({ permissions, scheme, id }) =>
    writer.int(permissions).string(scheme).string(id),
  );
}

function readAcl(reader: Reader): AclEntry[] {
  return reader.vector(() => ({
    permissions: reader.int(),
    scheme: reader.string() as string,
    id: reader.string() as string,
  }));
}

export interface CreateOptions {
  readonly data?: string | Uint8Array | null;
  readonly acl?: readonly AclEntry[];
  readonly mode?: number;
}

function bytesOf(data: string | Uint8Array | null): Uint8Array | null {
  return typeof data === 'string' ? Buffer.from(data) : data;
}

function operation<T>(type: number, body: Writer, decode: (reader: Reader) => T): Operation<T> {
  return { type, body: body.done(), decode };
}

/** The beginning of all requests about one node. */
const at = (where: string) => new Writer().string(where);

function createBody(where: string, { data = '', acl = OPEN, mode = MODE.persistent }: CreateOptions): Writer {
  return writeAcl(at(where).buffer(bytesOf(data)), acl).int(mode);
}

export function create(where: string, options: CreateOptions = {}): Operation<string | null> {
  return operation(OPERATION.create, createBody(where, options), path);
}

/** A create whose answer has the stat, too. */
export function create2(where: string, options: CreateOptions = {}) {
  return operation(OPERATION.create2, createBody(where, options), pathAndStat);
}

export function createContainer(where: string, options: CreateOptions = {}) {
  const body = createBody(where, { mode: MODE.container, ...options });
  return operation(OPERATION.createContainer, body, pathAndStat);
}

export function createTtl(where: string, ttlMs: bigint, options: CreateOptions = {}) {
  const body = createBody(where, { mode: MODE.ttl, ...options });
  return operation(OPERATION.createTtl, body.long(ttlMs), pathAndStat);
}

export function remove(where: string, version: number = ANY_VERSION): Operation<undefined> {
  return operation(OPERATION.delete, at(where).int(version), nothing);
}

function reading<T>(type: number, decode: (reader: Reader) => T) {
  return (where: string, watch = false) => operation(type, at(where).bool(watch), decode);
}

export const exists = reading(OPERATION.exists, readStat);
export const getData = reading(OPERATION.getData, dataAndStat);
export const getChildren = reading(OPERATION.getChildren, strings);
export const getChildren2 = reading(OPERATION.getChildren2, (reader) => ({
  children: strings(reader),
  stat: readStat(reader),
}));

export function setData(
  where: string,
  data: string | Uint8Array | null,
  version: number = ANY_VERSION,
): Operation<Stat> {
  return operation(OPERATION.setData, at(where).buffer(bytesOf(data)).int(version), readStat);
}

export function getAcl(where: string) {
  return operation(OPERATION.getAcl, at(where), (reader) => ({
    acl: readAcl(reader),
    stat: readStat(reader),
  }));
}

export function setAcl(
  where: string,
  acl: readonly AclEntry[],
  version: number = ANY_VERSION,
): Operation<Stat> {
  return operation(OPERATION.setAcl, writeAcl(at(where), acl).int(version), readStat);
}

export function sync(where: string): Operation<string | null> {
  return operation(OPERATION.sync, at(where), path);
}

/** Only a part of a transaction. */
export function check(where: string, version: number): Operation<undefined> {
  return operation(OPERATION.check, at(where).int(version), nothing);
}

/** The result of a part of a transaction, by its type. An error's code is 0 for parts that failed only because another one did. */
export interface PartResult {
  readonly type: number;
  readonly error?: number;
  readonly path?: string | null;
  readonly stat?: Stat;
  readonly data?: Buffer | null;
  readonly children?: string[];
}

function readPart(type: number, reader: Reader): PartResult {
  switch (type) {
    case OPERATION.error:
      return { type, error: reader.int() };
    case OPERATION.create:
      return { type, path: reader.string() };
    case OPERATION.create2:
      return { type, ...pathAndStat(reader) };
    case OPERATION.setData:
      return { type, stat: readStat(reader) };
    case OPERATION.getData:
      return { type, ...dataAndStat(reader) };
    case OPERATION.getChildren:
      return { type, children: strings(reader) };
    case OPERATION.delete:
    case OPERATION.check:
      return { type };
    default:
      throw new Error(`a result of type ${type}`);
  }
}

/** @throws Error if the results don't end as they should, or a header contradicts its result. */
function readParts(reader: Reader): PartResult[] {
  const results: PartResult[] = [];
  for (;;) {
    const type = reader.int();
    const isDone = reader.bool();
    const error = reader.int();
    if (isDone) {
      if (type !== -1 || error !== -1) throw new Error(`results end with type ${type} and error ${error}`);
      return results;
    }
    const result = readPart(type, reader);
    if (error !== (result.error ?? 0)) throw new Error(`a header says ${error}, its result ${result.error}`);
    results.push(result);
  }
}

function partsOf(type: number, parts: readonly Operation<unknown>[]): Operation<PartResult[]> {
  const writer = new Writer();
  for (const part of parts) writer.int(part.type).bool(false).int(-1).raw(part.body);
  return operation(type, writer.int(-1).bool(true).int(-1), readParts);
}

export const multi = (...parts: readonly Operation<unknown>[]) => partsOf(OPERATION.multi, parts);
export const multiRead = (...parts: readonly Operation<unknown>[]) => partsOf(OPERATION.multiRead, parts);

export function ping(): Operation<undefined> {
  return { ...operation(OPERATION.ping, new Writer(), nothing), xid: XID.ping };
}

export function auth(scheme: string, credentials: string): Operation<undefined> {
  const body = new Writer().int(0).string(scheme).string(credentials);
  return { ...operation(OPERATION.auth, body, nothing), xid: XID.auth };
}

/** One token of a SASL exchange. `null` is sent as a length of -1. */
export function sasl(token: string | Uint8Array | null): Operation<Buffer | null> {
  return operation(OPERATION.sasl, new Writer().buffer(bytesOf(token)), (reader) => reader.buffer());
}

interface WatchedPaths {
  readonly seenZxid: bigint;
  readonly data?: readonly string[];
  readonly exist?: readonly string[];
  readonly child?: readonly string[];
}

/** Sets watches again after a reconnect, with the last zxid that this client has seen. */
export function setWatches({
  seenZxid,
  data = [],
  exist = [],
  child = [],
}: WatchedPaths): Operation<undefined> {
  const writer = new Writer().long(seenZxid);
  for (const paths of [data, exist, child]) writer.vector(paths, (item) => writer.string(item));
  return { ...operation(OPERATION.setWatches, writer, nothing), xid: XID.setWatches };
}

export function removeWatches(where: string, kind: number): Operation<undefined> {
  return operation(OPERATION.removeWatches, at(where).int(kind), nothing);
}

export function whoAmI() {
  return operation(OPERATION.whoAmI, new Writer(), (reader) =>
    reader.vector(() => ({ scheme: reader.string(), id: reader.string() })),
  );
}

export function closeSession(): Operation<undefined> {
  return operation(OPERATION.closeSession, new Writer(), nothing);
}

/** Bytes of a request that no client writes: an unknown type, or a truncated body. */
export function raw(type: number, body: Uint8Array = Buffer.alloc(0)): Operation<Buffer> {
  return { type, body: Buffer.from(body), decode: (reader) => reader.raw(reader.left) };
}
