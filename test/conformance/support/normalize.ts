import { inspect } from 'node:util';

/** The values of one run that mean nothing to another server. */
export interface Terms {
  /** The node below which the run takes place. */
  readonly root: string;
  /** The transaction that created the root. */
  readonly start: bigint;
  /** The names of the owners of ephemeral nodes. */
  readonly owners: ReadonlyMap<bigint, string>;
}

const TIMES = new Set(['ctime', 'mtime']);

/**
 * Expresses an item in terms that all servers share: transactions count from the first one of the run, owners have names, and
 * times are left out.
 */
export function normalize(value: unknown, terms: Terms, name = ''): unknown {
  if (typeof value === 'bigint') {
    if (TIMES.has(name)) return 'a time';
    if (name === 'ephemeralOwner') return terms.owners.get(value) ?? String(value);
    return value > 0n ? `start + ${value - terms.start}` : String(value);
  }
  if (typeof value === 'string') return value.replaceAll(terms.root, '');
  if (Buffer.isBuffer(value)) return value.toString('hex');
  if (Array.isArray(value)) {
    const items = value.map((item) => normalize(item, terms));
    return value.every(isOneOfMany) ? items.sort(byText) : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, normalize(item, terms, key)]));
}

/** Whether an item is one of a list without an order: servers list children, ephemeral nodes and identities in the order of a hash table. */
function isOneOfMany(item: unknown): boolean {
  return typeof item === 'string' || (typeof item === 'object' && item !== null && 'scheme' in item);
}

export function byText(a: unknown, b: unknown): number {
  return inspect(a) < inspect(b) ? -1 : 1;
}
