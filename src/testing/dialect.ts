/**
 * As which release of ZooKeeper an embedded server answers: `3.8` as 3.8.0 does, `3.9` as 3.9.5 does. A client sees the
 * difference in what `docs/testing.md` lists, and in nothing else that was found.
 */
export type Dialect = '3.8' | '3.9';

/** Where releases of ZooKeeper differ in what a client sees, each with the issue that made the difference. */
export interface Traits {
  /** What `srvr`, `mntr` and `envi` say. */
  readonly version: string;
  /** An event carries the number of the transaction that caused it; without that, -1 (ZOOKEEPER-4655, 3.9.0). */
  readonly zxidInEvents: boolean;
  /** `exists` is refused to whoever may not read the node (ZOOKEEPER-2590, 3.8.4 and 3.9.2). */
  readonly existsNeedsRead: boolean;
  /**
   * One connection may have a one-shot, a persistent and a recursive watch at one path: each is removed and looked up by
   * its kind (ZOOKEEPER-4466, -4471 and -4475, 3.9.0). Without that a later watch takes the place of an earlier one, and
   * `checkWatches` finds anybody's.
   */
  readonly separateWatchModes: boolean;
  /**
   * Within a transaction a creation stays the operation that it is (ZOOKEEPER-4667, 3.9.0): `create2` is answered with the
   * new node's stat, and a mode that the operation can't have is refused before any part is looked at.
   */
  readonly typedCreatesInMulti: boolean;
  /** `check` is refused outside a transaction, and the connection ends; without that, a check that holds gets no answer. */
  readonly checkOnlyInMulti: boolean;
}

const NOTE = 'conclave-embedded, in memory, for tests';

export const TRAITS: Readonly<Record<Dialect, Traits>> = {
  '3.8': {
    version: `3.8.0-${NOTE}`,
    zxidInEvents: false,
    existsNeedsRead: false,
    separateWatchModes: false,
    typedCreatesInMulti: false,
    checkOnlyInMulti: false,
  },
  '3.9': {
    version: `3.9.5-${NOTE}`,
    zxidInEvents: true,
    existsNeedsRead: true,
    separateWatchModes: true,
    typedCreatesInMulti: true,
    checkOnlyInMulti: true,
  },
};

export const DIALECTS = Object.keys(TRAITS) as readonly Dialect[];
