import { mark } from '../../public-class/instance-brand.js';
import { showAs } from '../../public-class/shown-in-console.js';
import type { EmbeddedServer } from '../server/embedded-server.js';
import type { SessionRecord } from '../state/session-table.js';

/** A session of an {@link EmbeddedZooKeeper}: its state at the server, and its faults. */
export class EmbeddedSession {
  readonly #session: SessionRecord;
  readonly #server: EmbeddedServer;
  /** The `ephemeralOwner` in the stat of its nodes. */
  readonly id: bigint;

  /** @internal */
  constructor(session: SessionRecord, server: EmbeddedServer) {
    this.id = session.id;
    this.#session = session;
    this.#server = server;
  }

  /** `false` after it was closed or has expired. */
  get isAlive(): boolean {
    return this.#server.stateMachine.sessions.get(this.id) === this.#session;
  }

  /** Whether it has a connection at the moment. */
  get isConnected(): boolean {
    return this.#server.stateMachine.clientOf(this.#session) !== undefined;
  }

  /** As agreed with the client. */
  get timeoutMs(): number {
    return this.#session.timeoutMs;
  }

  /** The paths of its ephemeral nodes, in the order in which they were created. */
  get ephemerals(): string[] {
    return [...this.#server.stateMachine.tree.ephemeralsOf(this.id)];
  }

  /**
   * Ends it now, as if its client had sent nothing for a session timeout: its ephemeral nodes are deleted, watchers are
   * notified, its connection is cut. Does nothing if it has ended.
   */
  expire(): void {
    if (this.isAlive) this.#server.stateMachine.closeSession(this.#session, this.#server.moment());
  }

  /** Cuts its connection. The session stays alive, and its client may connect again. */
  dropConnection(): void {
    this.#server.stateMachine.clientOf(this.#session)?.disconnect();
  }

  /** Drops every byte between client and server, without an error on either side. The session expires in time. */
  partition(): void {
    this.#server.faults.partitionedSessions.add(this.id);
  }

  /** Ends {@link EmbeddedSession.partition}. A connection that lost bytes meanwhile is reset. */
  heal(): void {
    this.#server.faults.partitionedSessions.delete(this.id);
    this.#server.faultsChanged();
  }
}

mark(EmbeddedSession, 'EmbeddedSession');
showAs(EmbeddedSession, ({ id, isAlive, isConnected, ephemerals }) => ({
  id,
  isAlive,
  isConnected,
  ephemerals,
}));
