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
export const LOG_ENTRIES = 10_000;

/** The requests that the server received and the events that it sent, in order. */
export class RequestLog {
  #requests: LoggedRequest[] = [];
  #events: LoggedEvent[] = [];
  readonly #requestCounts = new Map<LoggedOperation, number>();
  readonly #eventCounts = new Map<EventType, number>();

  addRequest(request: LoggedRequest): void {
    this.#requests = withNewest(this.#requests, request);
    this.#requestCounts.set(request.operation, this.countRequests(request.operation) + 1);
  }

  addEvent(event: LoggedEvent): void {
    this.#events = withNewest(this.#events, event);
    this.#eventCounts.set(event.type, this.countEvents(event.type) + 1);
  }

  get requests(): LoggedRequest[] {
    return this.#requests.slice(-LOG_ENTRIES);
  }

  get events(): LoggedEvent[] {
    return this.#events.slice(-LOG_ENTRIES);
  }

  countRequests(operation?: LoggedOperation): number {
    return count(this.#requestCounts, operation);
  }

  countEvents(type?: EventType): number {
    return count(this.#eventCounts, type);
  }

  reset(): void {
    this.#requests = [];
    this.#events = [];
    this.#requestCounts.clear();
    this.#eventCounts.clear();
  }
}

/** Appends, and drops the older half when there are twice as many as are shown. */
function withNewest<T>(entries: T[], entry: T): T[] {
  entries.push(entry);
  return entries.length < 2 * LOG_ENTRIES ? entries : entries.slice(-LOG_ENTRIES);
}

function count<K>(counts: ReadonlyMap<K, number>, key: K | undefined): number {
  if (key !== undefined) return counts.get(key) ?? 0;
  return [...counts.values()].reduce((sum, each) => sum + each, 0);
}
