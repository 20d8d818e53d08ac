import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { type Acl, type GivenAcl, type Identity, userName } from '../protocol/acl-and-stat.js';
import { fail, PERMISSION_BIT } from '../protocol/op-codes.js';

export type Permission = keyof typeof PERMISSION_BIT;

export const OPEN_ACL: readonly Acl[] = [{ permissions: 31, scheme: 'world', id: 'anyone' }];
export const READ_ONLY_ACL: readonly Acl[] = [{ permissions: 1, scheme: 'world', id: 'anyone' }];

/** The identity that the credentials prove; `undefined` if they are null, or the scheme is unknown. All other digest credentials prove one. */
export function provenIdentity(
  scheme: string | null,
  credentials: Buffer | null,
  address: string,
): Identity | undefined {
  if (scheme === 'ip') return { scheme, id: address };
  if (scheme !== 'digest' || credentials === null) return undefined;
  return { scheme, id: digestOf(credentials.toString('utf8')) };
}

function digestOf(credentials: string): string {
  const user = credentials.split(':', 1)[0] as string;
  return `${user}:${createHash('sha1').update(credentials).digest('base64')}`;
}

export function isAllowed(
  acl: readonly Acl[],
  permission: Permission,
  identities: readonly Identity[],
): boolean {
  const bit = PERMISSION_BIT[permission];
  return acl.some((entry) => {
    if ((entry.permissions & bit) === 0) return false;
    if (entry.scheme === 'world' && entry.id === 'anyone') return true;
    return identities.some((identity) => matches(identity, entry));
  });
}

/** @throws ErrorReply (NO_AUTH) */
export function requireAccess(
  acl: readonly Acl[],
  permission: Permission,
  identities: readonly Identity[],
): void {
  if (!isAllowed(acl, permission, identities)) fail('NO_AUTH');
}

function matches(identity: Identity, entry: Acl): boolean {
  if (identity.scheme !== entry.scheme) return false;
  if (entry.scheme === 'sasl' && identity.id === SASL_SUPER_USER) return true;
  return entry.scheme === 'ip' ? isInNetwork(identity.id, entry.id) : identity.id === entry.id;
}

const SASL_SUPER_USER = 'super';

/** The client that writes an access list. */
export interface AclAuthor {
  readonly identities: readonly Identity[];
  /** Whether the server takes the scheme `sasl`. @default false */
  readonly mayNameSaslUsers?: boolean;
}

/**
 * The list as it is stored: without duplicates, and `auth` replaced by the identities of the client that writes it.
 *
 * @throws ErrorReply: INVALID_ACL if it is empty, an entry is malformed, or `auth` is used by a client without identity;
 *   MARSHALLING_ERROR if ZooKeeper's code meets a null that it doesn't expect
 */
export function resolveAcl(given: readonly GivenAcl[] | null, author: AclAuthor): readonly Acl[] {
  if (given === null || given.length === 0) fail('INVALID_ACL');
  const resolved = withoutDuplicates(given).flatMap((entry) => resolveEntry(entry, author));
  // Almost all nodes are open to all clients: they share one list.
  return isOpen(resolved) ? OPEN_ACL : resolved;
}

function isOpen(acl: readonly Acl[]): boolean {
  const [first] = acl;
  return acl.length === 1 && first?.scheme === 'world' && first.permissions === 31;
}

/** Whether an id is one of the scheme. */
const ID_CHECKS: ReadonlyMap<string | null, (id: string) => boolean> = new Map([
  ['world', (id: string) => id === 'anyone'],
  ['digest', isDigestId],
  ['ip', (id: string) => parseNetwork(id) !== undefined],
  ['sasl', isKerberosName],
]);

/** The id of `auth` doesn't matter: clients also send null. */
function resolveEntry(entry: GivenAcl, { identities, mayNameSaslUsers = false }: AclAuthor): readonly Acl[] {
  const { scheme, id, permissions } = entry;
  // Every client has an address: it proves no identity.
  const proven = identities.filter((identity) => identity.scheme !== 'ip');
  if (scheme === 'auth' && proven.length > 0) return proven.map((identity) => ({ ...identity, permissions }));
  const isRight = scheme === 'sasl' && !mayNameSaslUsers ? undefined : ID_CHECKS.get(scheme);
  if (scheme === null || isRight === undefined) fail('INVALID_ACL');
  if (id === null) fail('MARSHALLING_ERROR');
  return isRight(id) ? [{ scheme, id, permissions }] : fail('INVALID_ACL');
}

/** A name and the digest of the password, with a colon between; ZooKeeper ignores colons at the end. */
function isDigestId(id: string): boolean {
  return id.replace(/:+$/, '').split(':').length === 2;
}

/** `user`, `user@REALM` or `user/host@REALM`, as ZooKeeper reads it: without an `@`, any text. */
export function isKerberosName(id: string): boolean {
  return !id.includes('@') || /^[^/@]*(?:\/[^/@]*)?@[^/@]*$/.test(id);
}

function withoutDuplicates(acl: readonly GivenAcl[]): GivenAcl[] {
  const kept: GivenAcl[] = [];
  for (const entry of acl) if (!kept.some((former) => areEqual(entry, former))) kept.push(entry);
  return kept;
}

/** As ZooKeeper compares them: it can't compare a null with what came before. */
function areEqual(entry: GivenAcl, former: GivenAcl): boolean {
  if (entry.permissions !== former.permissions) return false;
  if (entry.scheme === null) fail('MARSHALLING_ERROR');
  if (entry.scheme !== former.scheme) return false;
  if (entry.id === null) fail('MARSHALLING_ERROR');
  return entry.id === former.id;
}

/** The list for clients that may not change it: without the digests. */
export function masked(acl: readonly Acl[]): Acl[] {
  return acl.map((entry) => (entry.scheme === 'digest' ? { ...entry, id: `${userName(entry)}:x` } : entry));
}

const NETWORK = /^(\d+\.\d+\.\d+\.\d+)(?:\/(\d+))?$/;

/** `127.0.0.1`, or with a number of leading bits as in `127.0.0.0/8`. */
function parseNetwork(text: string): { address: number; bits: number } | undefined {
  const [, address, bits = '32'] = NETWORK.exec(text) ?? [];
  if (address === undefined || Number(bits) > 32) return undefined;
  if (address.split('.').some((part) => Number(part) > 255)) return undefined;
  return { address: toNumber(address), bits: Number(bits) };
}

function toNumber(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

function isInNetwork(address: string, network: string): boolean {
  const parsed = parseNetwork(network);
  if (parsed === undefined || isIP(address) !== 4) return address === network;
  const size = 2 ** (32 - parsed.bits);
  return Math.floor(toNumber(address) / size) === Math.floor(parsed.address / size);
}
