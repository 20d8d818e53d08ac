import { Claimant } from '../../src/election/term/claimant.js';
import { Connection } from '../../src/session/connection/connection.js';
import { Heartbeat } from '../../src/session/connection/heartbeat.js';
import type { Reply } from '../../src/session/connection/reply.js';
import type { Request } from '../../src/session/protocol/requests.js';

/** The rules by which the candidates lead. All but `shipped` are wrong, and the simulation has to show it. */
export const RULES = ['shipped', 'no-delay', 'pings', 'pings-no-delay', 'curator'] as const;
export type Rules = (typeof RULES)[number];

export const DESCRIPTIONS: Record<Rules, string> = {
  shipped: 'lease from committed heartbeats, takeover delay',
  'no-delay': 'the same without the takeover delay',
  pings: "lease from ZooKeeper's pings, takeover delay",
  'pings-no-delay': "lease from ZooKeeper's pings, no takeover delay",
  curator: "lead while connected, step down at `suspended` (Curator's rule)",
};

const { send } = Connection.prototype;
const { hasRoomToRaise } = Heartbeat.prototype;
const { delayFor } = Claimant.prototype;

/** Makes all candidates of this process follow these rules. */
export function goBy(rules: Rules): void {
  const byPings = rules.startsWith('pings');
  Connection.prototype.send = byPings ? sendPings : send;
  // A ping raises no version, so these leaders aren't followed before their sessions end.
  Heartbeat.prototype.hasRoomToRaise = byPings ? () => false : hasRoomToRaise;
  Claimant.prototype.delayFor = rules.endsWith('no-delay') ? () => 0 : delayFor;
}

/** Makes each heartbeat a ping: heartbeats are the only transactions that are sent over the connection itself, and not by way of the outbox. */
function sendPings<T>(this: Connection, request: Request<T>): Promise<Reply<T>> {
  if (request.name !== 'multi') return send.call(this, request) as Promise<Reply<T>>;
  return this.ping() as Promise<Reply<T>>;
}
