import { LeaderMonitor } from '../../src/election/leader-monitor.js';
import { HeartbeatNode } from '../../src/lease/heartbeat-node.js';
import { ignore } from '../../src/platform/async/promises.js';
import { Connection } from '../../src/session/connection/connection.js';
import type { Reply } from '../../src/session/connection/reply.js';
import type { Request } from '../../src/session/protocol/requests.js';
import { takeAwayTakeoverDelay } from '../support/conclave/no-takeover-delay.js';

/** The rules by which the candidates lead. All but `shipped` are wrong, and the simulation has to show it. */
export const RULES = [
  'shipped', // Lease from committed heartbeats, takeover delay.
  'no-delay', // The same without the takeover delay.
  'pings', // Lease from ZooKeeper's pings, takeover delay.
  'pings-no-delay', // Lease from ZooKeeper's pings, no takeover delay.
  'curator', // Lead while connected, step down at `suspended`: Curator's rule.
] as const;
export type Rules = (typeof RULES)[number];

const { send } = Connection.prototype;
const { written } = HeartbeatNode.prototype;
const { follow } = LeaderMonitor.prototype;
let giveBackDelay = ignore;
let current: Rules = 'shipped';

/** Makes all candidates of this process follow these rules. */
export function goBy(rules: Rules): void {
  if (rules === current) return; // A test may have replaced a method since.
  current = rules;
  const byPings = rules.startsWith('pings');
  Connection.prototype.send = byPings ? sendPings : send;
  // A ping raises no version, so these leaders aren't followed before their sessions end.
  HeartbeatNode.prototype.written = byPings ? () => true : written;
  LeaderMonitor.prototype.follow = byPings ? () => undefined : follow;
  giveBackDelay();
  giveBackDelay = rules.endsWith('no-delay') ? takeAwayTakeoverDelay() : ignore;
}

/** Makes each heartbeat a ping: heartbeats are the only transactions that are sent over the connection itself, and not by way of the outbox. */
async function sendPings<T>(this: Connection, request: Request<T>): Promise<Reply<T>> {
  if (request.name !== 'multi') return (await send.call(this, request)) as Reply<T>;
  return { ...(await this.ping()), value: [] as T };
}
