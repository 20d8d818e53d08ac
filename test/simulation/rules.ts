import { Connection } from '../../src/session/connection/connection.js';
import type { Reply } from '../../src/session/connection/reply.js';
import type { Request } from '../../src/session/protocol/requests.js';

/** By which rules the candidates lead. All but `shipped` are wrong: the simulator has to find that out. */
export const RULES = ['shipped', 'no-delay', 'pings', 'pings-no-delay', 'curator'] as const;
export type Rules = (typeof RULES)[number];

export const DESCRIPTIONS: Record<Rules, string> = {
  shipped: 'lease from committed heartbeats, takeover delay',
  'no-delay': 'the same with `takeoverDelayMs: 0`',
  pings: "lease from ZooKeeper's pings, takeover delay",
  'pings-no-delay': "lease from ZooKeeper's pings, no takeover delay",
  curator: "lead while connected, step down at `suspended` (Curator's rule)",
};

const { send } = Connection.prototype;

/**
 * Makes heartbeats of all sessions in this process pings, or committed writes again, as they are shipped. A heartbeat is
 * the only transaction that is sent over the connection itself, and not by way of the outbox.
 */
export function feedLeasesWith(source: 'commits' | 'pings'): void {
  Connection.prototype.send =
    source === 'commits'
      ? send
      : function <T>(this: Connection, request: Request<T>): Promise<Reply<T>> {
          if (request.name !== 'multi') return send.call(this, request) as Promise<Reply<T>>;
          return this.ping() as Promise<Reply<T>>;
        };
}
