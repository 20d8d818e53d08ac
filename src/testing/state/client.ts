import type { Identity } from '../protocol/records.js';
import type { SessionRecord } from './session-table.js';
import type { Watcher } from './watch-table.js';

/** A connection, as the state machine sees it. */
export interface Client extends Watcher {
  /** Where the client connects from, for access lists of addresses. */
  readonly address: string;
  identities: Identity[];
  session: SessionRecord | undefined;
  /** Ends the connection: its session has ended, or has moved to another connection. */
  disconnect(): void;
}
