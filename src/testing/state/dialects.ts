import type { OperationName } from '../protocol/requests.js';

/**
 * The server as which an embedded server answers: `3.8` as ZooKeeper 3.8.0 does, `3.9` as 3.9.5 does. A client sees the
 * differences that docs/guides/testing.md lists; no other ones were found. `keeper` answers as the sources of ClickHouse Keeper say, as far
 * as that guide says it. It wasn't compared with a real one.
 */
export type Dialect = '3.8' | '3.9' | 'keeper';

/** What ClickHouse Keeper does otherwise than all releases of ZooKeeper. */
interface KeeperTraits {
  /** A handshake may ask for a session that exists. Otherwise each handshake gets a new session, with a password of zeros. */
  readonly resumesSessions: boolean;
  /** A read keeps its session, as a ping and a write do. */
  readonly readsKeepSessions: boolean;
  /** `closeSession` has an answer before the end of the connection. */
  readonly answersCloseSession: boolean;
  /** The server closes the connection of a client that asks for one of these. */
  readonly unknownOperations: ReadonlySet<OperationName>;
}

/** How releases of ZooKeeper differ for a client, each difference with the issue that made it. */
export interface Traits extends KeeperTraits {
  readonly version: string; // The version in `srvr` and `mntr`.
  /** An event carries the zxid of the transaction that caused it; otherwise -1 (ZOOKEEPER-4655, 3.9.0). */
  readonly zxidInEvents: boolean;
  /** `exists` is refused to a client that may not read the node (ZOOKEEPER-2590, 3.8.4 and 3.9.2). */
  readonly existsNeedsRead: boolean;
  /**
   * Within a transaction a creation keeps its operation (ZOOKEEPER-4667, 3.9.0): `create2` is answered with the new node's
   * stat, and a mode that the operation can't have is refused before any part is carried out.
   */
  readonly typedCreatesInMulti: boolean;
  /** `check` outside a transaction is refused, and the connection ends; otherwise a check that holds gets no answer. */
  readonly checkOnlyInMulti: boolean;
}

const SUFFIX = 'conclave-embedded, in memory, for tests';

const ZOOKEEPER: KeeperTraits = {
  resumesSessions: true,
  readsKeepSessions: true,
  answersCloseSession: true,
  unknownOperations: new Set(),
};

const KEEPER: KeeperTraits = {
  resumesSessions: false,
  readsKeepSessions: false,
  answersCloseSession: false,
  // `multiRead` is one of the features that an operator can turn off. `removeWatches` came with 26.1.
  unknownOperations: new Set([
    'multiRead',
    'removeWatches',
    'setWatches',
    'whoAmI',
    'sasl',
    'deleteContainer',
  ]),
};

export const TRAITS: Readonly<Record<Dialect, Traits>> = {
  '3.8': {
    ...ZOOKEEPER,
    version: `3.8.0-${SUFFIX}`,
    zxidInEvents: false,
    existsNeedsRead: false,
    typedCreatesInMulti: false,
    checkOnlyInMulti: false,
  },
  '3.9': {
    ...ZOOKEEPER,
    version: `3.9.5-${SUFFIX}`,
    zxidInEvents: true,
    existsNeedsRead: true,
    typedCreatesInMulti: true,
    checkOnlyInMulti: true,
  },
  keeper: {
    ...KEEPER,
    version: `v25.8-${SUFFIX}`,
    zxidInEvents: false,
    existsNeedsRead: false,
    typedCreatesInMulti: false,
    checkOnlyInMulti: false,
  },
};

export const DIALECTS = Object.keys(TRAITS) as readonly Dialect[];
