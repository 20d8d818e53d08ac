import type { EventType } from './op-codes.js';

/** The identity of a client, in one of the authentication schemes. */
export interface Identity {
  readonly scheme: string;
  readonly id: string;
}

/** The part of an identity that other clients see: of a digest, the user's name. */
export function userName({ scheme, id }: Identity): string {
  return scheme === 'digest' ? (id.split(':', 1)[0] as string) : id;
}

/** One entry of an access list: bits of permissions, and the identity they are given to. */
export interface Acl extends Identity {
  readonly permissions: number;
}

/** An entry as a client has sent it. Clients send null in place of an empty string. */
export type GivenAcl = { readonly [K in keyof Acl]: Acl[K] extends string ? string | null : Acl[K] };

export interface ZnodeStat {
  readonly czxid: bigint;
  readonly mzxid: bigint;
  readonly ctimeMs: number;
  readonly mtimeMs: number;
  readonly version: number;
  readonly cversion: number;
  readonly aversion: number;
  readonly ephemeralOwner: bigint;
  readonly dataLength: number;
  readonly numChildren: number;
  readonly pzxid: bigint;
}

export interface WatchNotice {
  readonly type: EventType;
  readonly path: string;
  readonly zxid?: bigint | undefined; // Of the transaction that caused it, if the dialect sends it.
}
