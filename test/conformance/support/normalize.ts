import { inspect } from 'node:util';

/** What is a run's own, and has no meaning for another server. */
export interface Terms {
  /** The node below which the run takes place. */
  readonly root: string;
  /** The transaction that made it. */
  readonly start: bigint;
  /** What the owners of ephemeral nodes are called. */
  readonly owners: ReadonlyMap<bigint, string>;
}

const TIMES = new Set(['ctime', 'mtime']);

/**
 * The same in terms that all servers share: numbers of transactions count from the run's first, owners are called by their place, times are left out.
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

/** Children, ephemeral nodes and identities come in the order of some hash table. */
function isOneOfMany(item: unknown): boolean {
  return typeof item === 'string' || (typeof item === 'object' && item !== null && 'scheme' in item);
}

export function byText(a: unknown, b: unknown): number {
  return inspect(a) < inspect(b) ? -1 : 1;
}
