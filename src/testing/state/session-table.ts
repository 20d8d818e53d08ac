import type { Identity } from '../protocol/acl-and-stat.js';
import type { WatchingClient } from './watch-table.js';

export interface SessionRecord {
  readonly id: bigint;
  readonly password: Buffer;
  timeoutMs: number; // As granted at the latest handshake.
  expiresAtMs: number; // When it expires unless its client sends something: a multiple of the tick.
}

/**
 * The sessions that are alive, and when each expires: in buckets as wide as a tick, as in ZooKeeper, so that a second
 * request within the same tick costs nothing. Pure: the time is passed in.
 */
export class SessionTable {
  readonly #tickMs: number;
  readonly #byId = new Map<bigint, SessionRecord>();
  readonly #buckets = new Map<number, Set<SessionRecord>>();

  constructor(tickMs: number) {
    this.#tickMs = tickMs;
  }

  get size(): number {
    return this.#byId.size;
  }

  get(id: bigint): SessionRecord | undefined {
    return this.#byId.get(id);
  }

  /** In the order in which they were opened. */
  values(): MapIterator<SessionRecord> {
    return this.#byId.values();
  }

  open(id: bigint, password: Buffer, timeoutMs: number, nowMs: number): SessionRecord {
    const session: SessionRecord = { id, password, timeoutMs, expiresAtMs: this.#deadline(nowMs, timeoutMs) };
    this.#byId.set(id, session);
    this.#bucket(session.expiresAtMs).add(session);
    return session;
  }

  /** The client has sent something: its session lives for another timeout. */
  touch(session: SessionRecord, nowMs: number): void {
    const expiresAtMs = this.#deadline(nowMs, session.timeoutMs);
    if (expiresAtMs === session.expiresAtMs || !this.#byId.has(session.id)) return;
    this.#leaveBucket(session);
    session.expiresAtMs = expiresAtMs;
    this.#bucket(expiresAtMs).add(session);
  }

  remove(session: SessionRecord): void {
    this.#leaveBucket(session);
    this.#byId.delete(session.id);
  }

  /** The sessions that have expired. They stay until they are removed. */
  expired(nowMs: number): SessionRecord[] {
    const due = [...this.#buckets.keys()].filter((atMs) => atMs <= nowMs).sort((a, b) => a - b);
    return due.flatMap((atMs) => [...(this.#buckets.get(atMs) as Set<SessionRecord>)]);
  }

  /** The next time at which sessions may expire. */
  nextTickMs(nowMs: number): number {
    return (Math.floor(nowMs / this.#tickMs) + 1) * this.#tickMs;
  }

  #deadline(nowMs: number, timeoutMs: number): number {
    return this.nextTickMs(nowMs + timeoutMs);
  }

  #bucket(atMs: number): Set<SessionRecord> {
    const bucket = this.#buckets.get(atMs) ?? new Set();
    this.#buckets.set(atMs, bucket);
    return bucket;
  }

  #leaveBucket(session: SessionRecord): void {
    const bucket = this.#buckets.get(session.expiresAtMs);
    bucket?.delete(session);
    if (bucket?.size === 0) this.#buckets.delete(session.expiresAtMs);
  }
}

export interface Client extends WatchingClient {
  readonly address: string; // Where the client connects from, for access lists of addresses.
  identities: Identity[];
  session: SessionRecord | undefined;
  disconnect(): void; // Ends the connection: its session has ended, or has moved to another connection.
}
