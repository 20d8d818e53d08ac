import type { SessionLimits, StateMachine } from '../state/state-machine.js';
import type { Watcher } from '../state/watch-table.js';
import type { Traffic } from './connection.js';

export interface ServerStatus extends SessionLimits {
  readonly stateMachine: StateMachine;
  readonly traffic: Traffic;
  readonly port: number;
  readonly connections: readonly string[]; // One line for each connection.
  readonly uptimeMs: number;
}

type Answer = (status: ServerStatus) => string;

/** ZooKeeper's four-letter words, with the answers in its formats. */
const WORDS: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ['ruok', () => 'imok'],
  ['isro', () => 'rw'],
  ['srvr', (status) => `${version(status)}${statistics(status)}`],
  ['stat', (status) => `${version(status)}Clients:\n${clients(status)}\n${statistics(status)}`],
  ['cons', (status) => `${clients(status)}\n`],
  ['mntr', monitor],
  ['wchs', watchSummary],
  ['wchp', (status) => grouped(allWatches(status))],
  ['wchc', (status) => grouped([...allWatches(status)].map(([path, session]) => [session, path]))],
  ['dump', dump],
  ['conf', configuration],
  ['envi', ({ stateMachine }) => `Environment:\nzookeeper.version=${stateMachine.traits.version}\n`],
  ['srst', resetStatistics],
  ['crst', () => 'Connection stats reset.\n'],
]);

/** The answer, or `undefined` if there is no such word. */
export function answerWord(word: string, status: () => ServerStatus): string | undefined {
  return WORDS.get(word)?.(status());
}

function version({ stateMachine }: ServerStatus): string {
  return `Zookeeper version: ${stateMachine.traits.version}\n`;
}

function clients({ connections }: ServerStatus): string {
  return connections.map((line) => ` ${line}\n`).join('');
}

function statistics({ stateMachine, traffic, connections }: ServerStatus): string {
  return [
    'Latency min/avg/max: 0/0.0/0',
    `Received: ${traffic.received}`,
    `Sent: ${traffic.sent}`,
    `Connections: ${connections.length}`,
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
    ['num_alive_connections', connections.length],
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

function watchSummary({ stateMachine }: ServerStatus): string {
  const { watches, paths, watchers } = stateMachine.watches.data.size; // As ZooKeeper: not those of children.
  return `${watchers} connections watching ${paths} paths\nTotal watches:${watches}\n`;
}

/** As ZooKeeper: not those of children. */
function* allWatches({ stateMachine }: ServerStatus): Generator<[path: string, session: string]> {
  for (const [path, watchers] of stateMachine.watches.data.entries())
    for (const watcher of watchers.keys()) yield [path, sessionName(watcher)];
}

function sessionName(watcher: Watcher & { session?: { id: bigint } | undefined }): string {
  return `0x${(watcher.session?.id ?? 0n).toString(16)}`;
}

function grouped(pairs: Iterable<[group: string, member: string]>): string {
  const groups = new Map<string, string[]>();
  for (const [group, member] of pairs) groups.set(group, [...(groups.get(group) ?? []), member]);
  return `${[...groups].map(([group, members]) => `${group}\n\t${members.join('\n\t')}\n`).join('')}\n`;
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

function configuration(status: ServerStatus): string {
  return [
    `clientPort=${status.port}`,
    'secureClientPort=-1',
    `tickTime=${status.tickMs}`,
    'maxClientCnxns=0',
    `minSessionTimeout=${status.minSessionTimeoutMs}`,
    `maxSessionTimeout=${status.maxSessionTimeoutMs}`,
    'serverId=0\n',
  ].join('\n');
}

function resetStatistics({ traffic }: ServerStatus): string {
  traffic.received = traffic.sent = 0;
  return 'Server stats reset.\n';
}
