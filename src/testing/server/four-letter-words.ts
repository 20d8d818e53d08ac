import type { StateMachine } from '../state/state-machine.js';
import type { Watcher } from '../state/watch-table.js';
import type { Traffic } from './connection.js';

/** What the words tell of. */
export interface Subject {
  readonly keeper: StateMachine;
  readonly traffic: Traffic;
  readonly port: number;
  readonly tickMs: number;
  readonly minSessionTimeoutMs: number;
  readonly maxSessionTimeoutMs: number;
  /** One line for each connection, and how many there are. */
  readonly connections: readonly string[];
  readonly uptimeMs: number;
}

type Answer = (subject: Subject) => string;

/** ZooKeeper's administrative questions, each of four letters, with the answers in its formats. */
const WORDS: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ['ruok', () => 'imok'],
  ['isro', () => 'rw'],
  ['srvr', (subject) => `${version(subject)}${statistics(subject)}`],
  ['stat', (subject) => `${version(subject)}Clients:\n${clients(subject)}\n${statistics(subject)}`],
  ['cons', (subject) => `${clients(subject)}\n`],
  ['mntr', monitor],
  ['wchs', watchSummary],
  ['wchp', watchesByPath],
  ['wchc', watchesBySession],
  ['dump', dump],
  ['conf', configuration],
  ['envi', ({ keeper }) => `Environment:\nzookeeper.version=${keeper.traits.version}\n`],
  ['srst', resetStatistics],
  ['crst', () => 'Connection stats reset.\n'],
]);

/** The answer, or `undefined` if it is no such word. */
export function answerWord(word: string, subject: () => Subject): string | undefined {
  return WORDS.get(word)?.(subject());
}

function version({ keeper }: Subject): string {
  return `Zookeeper version: ${keeper.traits.version}\n`;
}

function clients({ connections }: Subject): string {
  return connections.map((line) => ` ${line}\n`).join('');
}

function statistics({ keeper, traffic, connections }: Subject): string {
  return [
    'Latency min/avg/max: 0/0.0/0',
    `Received: ${traffic.received}`,
    `Sent: ${traffic.sent}`,
    `Connections: ${connections.length}`,
    'Outstanding: 0',
    `Zxid: 0x${keeper.zxid.toString(16)}`,
    'Mode: standalone',
    `Node count: ${keeper.tree.size}\n`,
  ].join('\n');
}

function monitor({ keeper, traffic, connections, uptimeMs }: Subject): string {
  const lines: [string, string | number][] = [
    ['version', keeper.traits.version],
    ['server_state', 'standalone'],
    ['ephemerals_count', keeper.tree.ephemeralCount],
    ['num_alive_connections', connections.length],
    ['avg_latency', '0.0'],
    ['min_latency', 0],
    ['max_latency', 0],
    ['outstanding_requests', 0],
    ['znode_count', keeper.tree.size],
    ['global_sessions', keeper.sessions.size],
    ['local_sessions', 0],
    ['packets_sent', traffic.sent],
    ['packets_received', traffic.received],
    ['watch_count', keeper.watches.count],
    ['approximate_data_size', keeper.tree.approximateBytes],
    ['uptime', Math.floor(uptimeMs)],
  ];
  return lines.map(([name, value]) => `zk_${name}\t${value}\n`).join('');
}

function watchSummary({ keeper }: Subject): string {
  const sizes = [keeper.watches.data.size, keeper.watches.children.size];
  const sum = (name: 'watches' | 'paths' | 'watchers') =>
    sizes.reduce((total, size) => total + size[name], 0);
  return `${sum('watchers')} connections watching ${sum('paths')} paths\nTotal watches:${sum('watches')}\n`;
}

function* allWatches({ keeper }: Subject): Generator<[path: string, session: string]> {
  for (const table of [keeper.watches.data, keeper.watches.children])
    for (const [path, watchers] of table.entries())
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

function watchesByPath(subject: Subject): string {
  return grouped(allWatches(subject));
}

function watchesBySession(subject: Subject): string {
  return grouped([...allWatches(subject)].map(([path, session]) => [session, path]));
}

function dump({ keeper }: Subject): string {
  const sessions = [...keeper.sessions.values()];
  const owners = [...keeper.tree.ephemeralOwners()];
  const nodes = owners.map(
    (owner) => `0x${owner.toString(16)}:\n\t${[...keeper.tree.ephemeralsOf(owner)].join('\n\t')}\n`,
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

function configuration(subject: Subject): string {
  return [
    `clientPort=${subject.port}`,
    'secureClientPort=-1',
    `tickTime=${subject.tickMs}`,
    'maxClientCnxns=0',
    `minSessionTimeout=${subject.minSessionTimeoutMs}`,
    `maxSessionTimeout=${subject.maxSessionTimeoutMs}`,
    'serverId=0\n',
  ].join('\n');
}

function resetStatistics({ traffic }: Subject): string {
  traffic.received = traffic.sent = 0;
  return 'Server stats reset.\n';
}
