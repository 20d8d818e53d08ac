import { InvalidOptionError } from '../../errors.js';

/** One entry of a node's access list: which clients may do what with the node. */
export interface AccessEntry {
  /** The kind of the id: `world`, `auth`, `digest`, `ip`, `x509`… */
  readonly scheme: string;
  /** The id of the clients, in the form of the scheme: `anyone` for `world`. */
  readonly id: string;
  /** The sum of 1 (read), 2 (write), 4 (create children), 8 (delete children) and 16 (change the access list). */
  readonly permissions: number;
}

/**
 * Which clients may do what with a node. `world`: all clients may do everything. `creator`: clients that authenticate as this
 * session does may do everything, and others nothing. Or the access list itself.
 */
export type Access = 'world' | 'creator' | readonly AccessEntry[];

export const PERMISSION = { read: 1, write: 2, create: 4, delete: 8, admin: 16 } as const;
const ALL_PERMISSIONS = 31;
/** With these permissions on a node, a client could end the terms and locks below it, or change its data. */
export const DANGEROUS = PERMISSION.write | PERMISSION.delete | PERMISSION.admin;

export function entriesOf(access: Access): readonly AccessEntry[] {
  if (access === 'world') return [{ scheme: 'world', id: 'anyone', permissions: ALL_PERMISSIONS }];
  if (access === 'creator') return [{ scheme: 'auth', id: '', permissions: ALL_PERMISSIONS }];
  return access;
}

/** Whether any client may write the node, delete its children, or change its access list to that end. */
export function isOpenToAll(access: Access): boolean {
  return openEntry(access, DANGEROUS) !== undefined;
}

/** The entry that gives any client one of these permissions; `undefined` if there is none. */
export function openEntry(access: Access, permissions: number): AccessEntry | undefined {
  return entriesOf(access).find((entry) => (entry.permissions & permissions) !== 0 && isForEverybody(entry));
}

// No organization has a network with fewer fixed bits: the largest are 10.0.0.0/8 and IPv6's local addresses, fc00::/7.
const FEWEST_BITS = { ipv4: 8, ipv6: 7 } as const;

/**
 * Whether the entry is for `world`, or for a network so large that it contains addresses of others, or that a few such entries
 * contain all addresses.
 */
function isForEverybody({ scheme, id }: AccessEntry): boolean {
  if (scheme === 'world') return id === 'anyone';
  const slash = id.indexOf('/');
  if (scheme !== 'ip' || slash < 0) return false;
  const bits = Number(id.slice(slash + 1));
  // Text that isn't a number here may be a number for the server.
  return !(bits >= (id.includes(':') ? FEWEST_BITS.ipv6 : FEWEST_BITS.ipv4));
}

/** As ZooKeeper's tools write it: `world:anyone:cdrwa`. */
export function describeEntry({ scheme, id, permissions }: AccessEntry): string {
  const letters = [
    ['c', PERMISSION.create],
    ['d', PERMISSION.delete],
    ['r', PERMISSION.read],
    ['w', PERMISSION.write],
    ['a', PERMISSION.admin],
  ] as const;
  const given = letters.filter(([, permission]) => (permissions & permission) !== 0);
  return `${scheme}:${id}:${given.map(([letter]) => letter).join('')}`;
}

/** The list as ZooKeeper's tools write it, and as `setAcl` takes it. */
export function describeAccess(access: readonly AccessEntry[]): string {
  return access.map(describeEntry).join(',');
}

/**
 * The list with the least change after which not all clients may do what is dangerous: they keep what is harmless. The client that sets it
 * may do everything. Otherwise it could lock itself out, since an entry says only by a digest whose it is.
 */
export function protect(access: readonly AccessEntry[]): AccessEntry[] {
  const kept = access.flatMap((entry) => {
    const permissions = isForEverybody(entry) ? entry.permissions & ~DANGEROUS : entry.permissions;
    return permissions === 0 ? [] : [{ ...entry, permissions }];
  });
  return [...kept, ...entriesOf('creator')];
}

export function checkAccess<T extends Access | undefined>(value: unknown, fallback: T): Access | T {
  if (value === undefined) return fallback;
  if (value === 'world' || value === 'creator') return value;
  // A copy: the caller may change the array.
  if (Array.isArray(value) && value.length > 0 && value.every(isEntry))
    return value.map((entry) => ({ ...entry }));
  const expected = "'world', 'creator' or a list of { scheme, id, permissions (1 to 31) }";
  const at = Array.isArray(value) ? value.findIndex((entry) => !isEntry(entry)) : -1;
  const permissions = (value as Partial<AccessEntry>[] | null)?.[at]?.permissions;
  // Only the permissions are shown: an id may contain a password by mistake.
  if (typeof permissions === 'number' && !arePermissions(permissions))
    throw new InvalidOptionError(`access[${at}].permissions`, permissions, 'a whole number from 1 to 31');
  throw new InvalidOptionError('access', value, expected);
}

function isEntry(value: unknown): value is AccessEntry {
  const { scheme, id, permissions } = (value ?? {}) as Partial<Record<keyof AccessEntry, unknown>>;
  return typeof scheme === 'string' && scheme !== '' && typeof id === 'string' && arePermissions(permissions);
}

function arePermissions(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= ALL_PERMISSIONS;
}
