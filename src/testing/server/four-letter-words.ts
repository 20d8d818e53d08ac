import type { StateMachine } from '../state/state-machine.js';
import type { WatchingClient } from '../state/watch-table.js';
import type { Traffic } from './client-connection.js';

export interface ServerStatus {
  readonly stateMachine: StateMachine;
  readonly traffic: Traffic;
  readonly connections: { readonly size: number };
  readonly uptimeMs: number;
}

type Answer = (status: ServerStatus) => string;

/** ZooKeeper's four-letter words by which programs monitor a server, or see what a client has left there. The answers are in its formats. */
const WORDS: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ['ruok', () => 'imok'],
  ['srvr', statistics],
  ['mntr', monitor],
  ['wchp', watchedPaths],
  ['dump', dump],
]);

/** The answer, or `undefined` if there is no such word. */
export function answerWord(word: string, status: ServerStatus): string | undefined {
  return WORDS.get(word)?.(status);
}

function statistics({ stateMachine, traffic, connections }: ServerStatus): string {
  return [
    `Zookeeper version: ${stateMachine.traits.version}`,
    'Latency min/avg/max: 0/0.0/0',
    `Received: ${traffic.received}`,
    `Sent: ${traffic.sent}`,
    `Connections: ${connections.size}`,
    'Outstanding: 0',
    `Zxid: 0x${stateMachine.zxid.toString(16)}`,
    'Mode: standalone',
    `Node count: ${stateMachine.tree.size}\n`,
  ].join('\n');
}

function monitor({ stateMachine, traffic, connections, uptimeMs }: ServerStatus): string {
  const lines: [string, string | number][] = [
    ['version', stateMachine.traits.version],
    ['server_state', 'standalone'],
    ['ephemerals_count', stateMachine.tree.ephemeralCount],
    ['num_alive_connections', connections.size],
    ['avg_latency', '0.0'],
    ['min_latency', 0],
    ['max_latency', 0],
    ['outstanding_requests', 0],
    ['znode_count', stateMachine.tree.size],
    ['global_sessions', stateMachine.sessions.size],
    ['local_sessions', 0],
    ['packets_sent', traffic.sent],
    ['packets_received', traffic.received],
    ['watch_count', stateMachine.watches.count],
    ['approximate_data_size', stateMachine.tree.approximateBytes],
    ['uptime', Math.floor(uptimeMs)],
  ];
  return lines.map(([name, value]) => `zk_${name}\t${value}\n`).join('');
}

/** The paths that are watched, each with its sessions. As ZooKeeper: not those whose children are watched. */
function watchedPaths({ stateMachine }: ServerStatus): string {
  const groups = [...stateMachine.watches.data.entries()].map(
    ([path, watchers]) => `${path}\n\t${[...watchers].map(sessionName).join('\n\t')}\n`,
  );
  return `${groups.join('')}\n`;
}

function sessionName(watcher: WatchingClient & { session?: { id: bigint } | undefined }): string {
  return `0x${(watcher.session?.id ?? 0n).toString(16)}`;
}

function dump({ stateMachine }: ServerStatus): string {
  const sessions = [...stateMachine.sessions.values()];
  const owners = [...stateMachine.tree.ephemeralOwners()];
  const nodes = owners.map(
    (owner) => `0x${owner.toString(16)}:\n\t${[...stateMachine.tree.ephemeralsOf(owner)].join('\n\t')}\n`,
  );
  return [
    'SessionTracker dump:\n',
    `Session Sets (1)/(${sessions.length}):\n`,
    ...sessions.map(({ id }) => `\t0x${id.toString(16)}\n`),
    'ephemeral nodes dump:\n',
    `Sessions with Ephemerals (${owners.length}):\n`,
    ...nodes,
  ].join('');
}
