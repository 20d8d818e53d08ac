/**
 * The release of ZooKeeper as which an embedded server answers: `3.8` as 3.8.0 does, `3.9` as 3.9.5 does. A client sees the
 * differences that docs/guides/testing.md lists; no other ones were found.
 */
export type Dialect = '3.8' | '3.9';

/** How releases of ZooKeeper differ for a client, each difference with the issue that made it. */
export interface Traits {
  readonly version: string; // The version in `srvr`, `mntr` and `envi`.
  /** An event carries the zxid of the transaction that caused it; otherwise -1 (ZOOKEEPER-4655, 3.9.0). */
  readonly zxidInEvents: boolean;
  /** `exists` is refused to a client that may not read the node (ZOOKEEPER-2590, 3.8.4 and 3.9.2). */
  readonly existsNeedsRead: boolean;
  /**
   * One connection may have a one-shot, a persistent and a recursive watch at one path: each is removed and looked up by
   * its kind (ZOOKEEPER-4466, -4471 and -4475, 3.9.0). Otherwise a later watch replaces an earlier one, and `checkWatches`
   * finds the watches of all clients.
   */
  readonly separateWatchModes: boolean;
  /**
   * Within a transaction a creation keeps its operation (ZOOKEEPER-4667, 3.9.0): `create2` is answered with the new node's
   * stat, and a mode that the operation can't have is refused before any part is carried out.
   */
  readonly typedCreatesInMulti: boolean;
  /** `check` outside a transaction is refused, and the connection ends; otherwise a check that holds gets no answer. */
  readonly checkOnlyInMulti: boolean;
}

const SUFFIX = 'conclave-embedded, in memory, for tests';

export const TRAITS: Readonly<Record<Dialect, Traits>> = {
  '3.8': {
    version: `3.8.0-${SUFFIX}`,
    zxidInEvents: false,
    existsNeedsRead: false,
    separateWatchModes: false,
    typedCreatesInMulti: false,
    checkOnlyInMulti: false,
  },
  '3.9': {
    version: `3.9.5-${SUFFIX}`,
    zxidInEvents: true,
    existsNeedsRead: true,
    separateWatchModes: true,
    typedCreatesInMulti: true,
    checkOnlyInMulti: true,
  },
};

export const DIALECTS = Object.keys(TRAITS) as readonly Dialect[];
