import type { WireWriter } from '../../wire/jute.js';
import { type Acl, type Identity, userName, type WatchNotice, type ZnodeStat } from './acl-and-stat.js';
import { ERROR_CODES, EVENT, OP_CODE, PASSWORD_BYTES, XID } from './op-codes.js';

/** Writes the part of a reply after its header. */
export type Body = (out: WireWriter) => void;

export interface ReplyParts {
  readonly xid: number;
  readonly zxid: bigint;
  readonly code: number;
  readonly body?: Body | undefined;
  readonly isLast?: boolean; // The connection ends after this reply.
}

/** The `zxid` of a packet that answers no request. */
export const NO_ZXID = -1n;

export function writeReply(out: WireWriter, { xid, zxid, code, body }: ReplyParts): Buffer {
  out.int32(xid).int64(zxid).int32(code);
  body?.(out);
  return out.frame();
}

const SYNC_CONNECTED = 3;

export function writeEvent(out: WireWriter, { type, path, zxid = NO_ZXID }: WatchNotice): Buffer {
  out.int32(XID.event).int64(zxid).int32(ERROR_CODES.OK);
  return out.int32(EVENT[type]).int32(SYNC_CONNECTED).string(path).frame();
}

const PROTOCOL_VERSION = 0;

/** The reply to a handshake. Without a session its timeout is 0: the client's session has ended. */
export function writeConnectReply(
  out: WireWriter,
  session: { readonly id: bigint; readonly timeoutMs: number; readonly password: Buffer } | undefined,
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

export function statBody(stat: ZnodeStat): Body {
  return (out) => writeStat(out, stat);
}

export function dataBody(data: Buffer | null, stat: ZnodeStat): Body {
  return (out) => writeStat(out.buffer(data), stat);
}

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

export function identitiesBody(identities: readonly Identity[]): Body {
  return (out) => out.vector(identities, (each) => out.string(each.scheme).string(userName(each)));
}

export function stringBody(value: string | null): Body {
  return (out) => (value === null ? out.buffer(null) : out.string(value));
}

/** The answer to a SASL token. `null`: the server refuses it, or has no SASL. */
export function tokenBody(token: Buffer | null): Body {
  return (out) => out.buffer(token);
}

export function createdBody(opCode: number, path: string, stat: ZnodeStat): Body {
  return (out) => {
    out.string(path);
    if (opCode !== OP_CODE.create) writeStat(out, stat);
  };
}

/** One part of the answer to several operations: a value under its operation's code, or an error. */
export type PartReply =
  | { readonly opCode: number; readonly body: Body | undefined }
  | { readonly code: number };

export const partsBody =
  (parts: readonly PartReply[]): Body =>
  (out) => {
    for (const part of parts) {
      if ('code' in part) out.int32(OP_CODE.error).bool(false).int32(part.code).int32(part.code);
      else {
        out.int32(part.opCode).bool(false).int32(ERROR_CODES.OK);
        part.body?.(out);
      }
    }
    out.int32(-1).bool(true).int32(-1);
  };
