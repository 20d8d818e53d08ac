import { mark } from '../../classes/copies.js';
import { showAs } from '../../classes/inspection.js';
/** What a session's handle can ask of its server. */
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

/** A session at an {@link EmbeddedZooKeeper}, seen and disturbed from the server's side. */
export class EmbeddedSession {
  readonly #controls: SessionControls;
  /** As in `Stat.ephemeralOwner` of its nodes. */
  readonly id: bigint;

  /** @internal */
  constructor(id: bigint, controls: SessionControls) {
    this.id = id;
    this.#controls = controls;
  }

  /** `false` once it was closed or has expired. */
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
   * Ends it now, as if its client had been silent for too long: its ephemeral nodes go, watchers are told, its
   * connection is cut. Does nothing if it is over.
   */
  expire(): void {
    this.#controls.expire();
  }

  /** Cuts its connection. The session lives on, and its client may connect again. */
  dropConnection(): void {
    this.#controls.dropConnection();
  }

  /** From now on no byte gets through between it and the server, and neither side is told. It expires in time. */
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
