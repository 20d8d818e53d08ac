import type { TransactionPart } from '../../session/protocol/records.js';

/** An election, or the path of a lock, that may be removed. */
export interface PruneTarget {
  readonly path: string;
  /** What a person has to know of it, besides its path. */
  readonly description: string;
  /** How long to wait after it was read, in milliseconds. */
  readonly waitMs: number;
  /** Delete all of it, or, if it was written since it was read, nothing. */
  readonly parts: readonly TransactionPart[];
}

/** What a search has found. */
export interface PruneSearch {
  readonly removable: readonly PruneTarget[];
  /** How many others processes take part in. */
  readonly inUse: number;
}

/** Where to look: at one path that the user has named, or at a path and below it. */
export type Where = { readonly path: string } | { readonly root: string };
