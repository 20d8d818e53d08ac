import type { WireWriter } from '../../wire/jute.js';
import { type Acl, type Identity, userName } from '../state/acl.js';
import type { SessionRecord } from '../state/session-table.js';
import type { Applied, MultiOutcome, WriteResult } from '../state/transactions.js';
import type { WatchEvent } from '../state/watch-table.js';
import type { ZnodeStat } from '../state/znode-tree.js';
import { ERROR_CODES, EVENT, OP, PASSWORD_BYTES, XID } from './op-codes.js';

/** Writes the part of a reply that comes after its header. */
export type Body = (out: WireWriter) => void;

export interface Reply {
  readonly xid: number;
  readonly zxid: bigint;
  readonly code: number;
  readonly body?: Body | undefined;
  /** The connection ends with it. */
  readonly isLast?: boolean;
}

/** The `zxid` of what isn't the answer to anything that was ordered. */
export const NO_ZXID = -1n;

export function writeReply(out: WireWriter, { xid, zxid, code, body }: Reply): Buffer {
  out.int32(xid).int64(zxid).int32(code);
  body?.(out);
  return out.frame();
}

const SYNC_CONNECTED = 3;

export function writeEvent(out: WireWriter, { type, path, zxid = NO_ZXID }: WatchEvent): Buffer {
  out.int32(XID.event).int64(zxid).int32(ERROR_CODES.OK);
  return out.int32(EVENT[type]).int32(SYNC_CONNECTED).string(path).frame();
}

const PROTOCOL_VERSION = 0;

/** The answer to a handshake; without a session it says that there is none, by a timeout of 0. */
export function writeGreeting(
  out: WireWriter,
  session: SessionRecord | undefined,
  withReadOnlyFlag: boolean,
): Buffer {
  out
    .int32(PROTOCOL_VERSION)
    .int32(session?.timeoutMs ?? 0)
    .int64(session?.id ?? 0n)
    .buffer(session?.password ?? Buffer.alloc(PASSWORD_BYTES));
  if (withReadOnlyFlag) out.bool(false);
  return out.frame();
}

export function writeStat(out: WireWriter, stat: ZnodeStat): void {
  out.int64(stat.czxid).int64(stat.mzxid).int64(BigInt(stat.ctimeMs)).int64(BigInt(stat.mtimeMs));
  out.int32(stat.version).int32(stat.cversion).int32(stat.aversion).int64(stat.ephemeralOwner);
  out.int32(stat.dataLength).int32(stat.numChildren).int64(stat.pzxid);
}

export const statBody =
  (stat: ZnodeStat): Body =>
  (out) =>
    writeStat(out, stat);

export const dataBody =
  (data: Buffer | null, stat: ZnodeStat): Body =>
  (out) => {
    out.buffer(data);
    writeStat(out, stat);
  };

export const stringsBody =
  (strings: readonly string[], stat?: ZnodeStat): Body =>
  (out) => {
    out.vector(strings, (each) => out.string(each));
    if (stat !== undefined) writeStat(out, stat);
  };

export const aclBody =
  (acl: readonly Acl[], stat: ZnodeStat): Body =>
  (out) => {
    out.vector(acl, ({ permissions, scheme, id }) => out.int32(permissions).string(scheme).string(id));
    writeStat(out, stat);
  };

export const identitiesBody =
  (identities: readonly Identity[]): Body =>
  (out) => {
    out.vector(identities, (identity) => out.string(identity.scheme).string(userName(identity)));
  };

export const numberBody =
  (value: number): Body =>
  (out) => {
    out.int32(value);
  };

export const stringBody =
  (value: string): Body =>
  (out) => {
    out.string(value);
  };

/** The answer to a SASL token where nobody is configured to check it. */
export const noTokenBody: Body = (out) => {
  out.buffer(null);
};

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

function createdBody(opCode: number, path: string, stat: ZnodeStat): Body {
  return (out) => {
    out.string(path);
    if (opCode !== OP.create) writeStat(out, stat);
  };
}

/** One part of the answer to several operations at once: a value under its operation's number, or an error. */
export type PartReply =
  | { readonly opCode: number; readonly body: Body | undefined }
  | { readonly code: number };

export const partsBody =
  (parts: readonly PartReply[]): Body =>
  (out) => {
    for (const part of parts) {
      if ('code' in part) {
        writePartHeader(out, OP.error, part.code);
        out.int32(part.code);
      } else {
        writePartHeader(out, part.opCode, ERROR_CODES.OK);
        part.body?.(out);
      }
    }
    out.int32(-1).bool(true).int32(-1);
  };

function writePartHeader(out: WireWriter, opCode: number, code: number): void {
  out.int32(opCode).bool(false).int32(code);
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
      // Whatever operation created a node, its stat comes under the number of the first that gave one.
      return { opCode: result.opCode === OP.create ? OP.create : OP.create2, body };
    case 'stat':
      return { opCode: OP.setData, body };
    case 'deleted':
      return { opCode: OP.delete, body };
    case 'checked':
      return { opCode: OP.check, body };
  }
}
