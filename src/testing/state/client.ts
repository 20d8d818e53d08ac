import type { Identity } from '../protocol/records.js';
import type { SessionRecord } from './session-table.js';
import type { Watcher } from './watch-table.js';

export interface Client extends Watcher {
  readonly address: string; // Where the client connects from, for access lists of addresses.
  identities: Identity[];
  session: SessionRecord | undefined;
  disconnect(): void; // Ends the connection: its session has ended, or has moved to another connection.
}
