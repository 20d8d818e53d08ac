import { mark } from '../../classes/copies.js';
import { showAs } from '../../classes/inspection.js';

/** The server, as the handle of a session uses it. */
export interface SessionControls {
  isAlive(): boolean;
  isConnected(): boolean;
  timeoutMs(): number;
  ephemerals(): string[];
  expire(): void;
  dropConnection(): void;
  partition(): void;
  heal(): void;
}

/** A session of an {@link EmbeddedZooKeeper}: its state at the server, and its faults. */
export class EmbeddedSession {
  readonly #controls: SessionControls;
  /** The `ephemeralOwner` in the stat of its nodes. */
  readonly id: bigint;

  /** @internal */
  constructor(id: bigint, controls: SessionControls) {
    this.id = id;
    this.#controls = controls;
  }

  /** `false` after it was closed or has expired. */
  get isAlive(): boolean {
    return this.#controls.isAlive();
  }

  /** Whether it has a connection at the moment. */
  get isConnected(): boolean {
    return this.#controls.isConnected();
  }

  /** As agreed with the client. */
  get timeoutMs(): number {
    return this.#controls.timeoutMs();
  }

  /** The paths of its ephemeral nodes, in the order in which they were created. */
  get ephemerals(): string[] {
    return this.#controls.ephemerals();
  }

  /**
   * Ends it now, as if its client had sent nothing for a session timeout: its ephemeral nodes are deleted, watchers are
   * notified, its connection is cut. Does nothing if it has ended.
   */
  expire(): void {
    this.#controls.expire();
  }

  /** Cuts its connection. The session stays alive, and its client may connect again. */
  dropConnection(): void {
    this.#controls.dropConnection();
  }

  /** Drops every byte between client and server, without an error on either side. The session expires in time. */
  partition(): void {
    this.#controls.partition();
  }

  /** Ends {@link EmbeddedSession.partition}. A connection that lost bytes meanwhile is reset. */
  heal(): void {
    this.#controls.heal();
  }
}

mark(EmbeddedSession, 'EmbeddedSession');
showAs(EmbeddedSession, ({ id, isAlive, isConnected, ephemerals }) => ({
  id,
  isAlive,
  isConnected,
  ephemerals,
}));
