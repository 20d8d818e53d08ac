import type { EventType } from '../protocol/op-codes.js';
import type { LoggedOperation } from '../protocol/requests.js';
import type { EmbeddedSession } from './embedded-session.js';

/** A request that reached the server. */
export interface LoggedRequest {
  /** The kind of request. */
  readonly operation: LoggedOperation;
  /** The paths in the request: several in a transaction, none in a ping. */
  readonly paths: readonly string[];
  /** The client's session; `undefined` before it has one. */
  readonly session: EmbeddedSession | undefined;
  /** By the server's clock. */
  readonly atMs: number;
}

/** An event that was sent to a watcher. */
export interface LoggedEvent {
  /** What happened to the node. */
  readonly type: EventType;
  /** The node's path. */
  readonly path: string;
  /** The watcher's session. */
  readonly session: EmbeddedSession | undefined;
  /** By the server's clock. */
  readonly atMs: number;
}

/** How many of the latest entries are kept. The counts include all. */
const LOG_ENTRIES = 10_000;

/** A log of entries, in order, and how many there were of each kind. */
export class TrafficLog<Entry, Kind> {
  #entries: Entry[] = [];
  readonly #counts = new Map<Kind, number>();

  add(kind: Kind, entry: Entry): void {
    // Drops the older half when there are twice as many as are shown.
    if (this.#entries.length >= 2 * LOG_ENTRIES - 1) this.#entries = this.latest;
    this.#entries.push(entry);
    this.#counts.set(kind, this.count(kind) + 1);
  }

  get latest(): Entry[] {
    return this.#entries.slice(-LOG_ENTRIES);
  }

  /** How many entries of this kind there were, or of all kinds. */
  count(kind?: Kind): number {
    if (kind !== undefined) return this.#counts.get(kind) ?? 0;
    return [...this.#counts.values()].reduce((sum, each) => sum + each, 0);
  }

  reset(): void {
    this.#entries = [];
    this.#counts.clear();
  }
}
