import { startZooKeeper } from '../../../tools/zookeeper/ensemble.mjs';
import type { ZooKeeperServer } from '../../../tools/zookeeper/server.mjs';
import { startProxy } from '../faults/start-proxy.js';
import type { TcpProxy } from '../faults/tcp-proxy.mjs';
import { onTestFinished } from '../vitest/test-end.js';
import { until } from '../waiting.mjs';

// How long a new leader and its followers wait for each other, if an election has gone wrong, before the next one.
const ELECTED_WITHIN_MS = 10_000;

/** How an {@link Ensemble} is started. */
export interface EnsembleOptions {
  /** ZooKeeper's `tickTime`: sessions end at multiples of it, and a leader asks its followers twice a tick. */
  readonly tickMs: number;
  /** After how many silent ticks a leader and a follower give each other up. */
  readonly syncLimit?: number;
  /**
   * Puts a proxy on each way from one server to another, for {@link Ensemble.isolate}. Don't use it if a leader
   * dies in the test: a proxy accepts connections also for a server that isn't there, which can hold an election up for 10 s.
   * @default false
   */
  readonly proxiedLinks?: boolean;
}

/** Three real servers. */
export class Ensemble {
  readonly connectString: string;
  readonly #links: readonly PeerLink[];

  /** @param stop - ends all servers */
  private constructor(
    readonly servers: readonly ZooKeeperServer[],
    readonly stop: () => Promise<void>,
    links: readonly PeerLink[],
  ) {
    this.connectString = connectStringOf(servers);
    this.#links = links;
  }

  /** Starts servers for one test: they end with it. */
  static async start(options: EnsembleOptions): Promise<Ensemble> {
    const ensemble = await Ensemble.startFor(options);
    onTestFinished(ensemble.stop);
    return ensemble;
  }

  /** Starts servers that run until they are stopped, without proxies, which end with a test. */
  static startForMany(options: Omit<EnsembleOptions, 'proxiedLinks'>): Promise<Ensemble> {
    return Ensemble.startFor(options);
  }

  private static async startFor({
    tickMs,
    syncLimit = 5,
    proxiedLinks = false,
  }: EnsembleOptions): Promise<Ensemble> {
    const links: PeerLink[] = [];
    const route = async ({ from, to, port }: { from: number; to: number; port: number }) => {
      if (!proxiedLinks) return port;
      const proxy = await startProxy(port, { readable: false });
      links.push({ from, to, proxy });
      return proxy.port;
    };
    const settings = { syncLimit, initLimit: Math.ceil(ELECTED_WITHIN_MS / tickMs) };
    const { servers, stop } = await startZooKeeper({ servers: 3, tickMs, settings, route });
    return new Ensemble(servers, stop, links);
  }

  /** The server that leads the others, once there is one. */
  async leader(): Promise<ZooKeeperServer> {
    let leader: ZooKeeperServer | undefined;
    const search = async () => {
      const modes = await Promise.all(this.servers.map((server) => server.mode()));
      leader = this.servers[modes.indexOf('leader')];
      return leader !== undefined;
    };
    await until(search, 'a leading server');
    return leader as ZooKeeperServer;
  }

  /** The servers that follow, once there is a leader. */
  async followers(): Promise<[ZooKeeperServer, ZooKeeperServer]> {
    const leader = await this.leader();
    return this.servers.filter((server) => server !== leader) as [ZooKeeperServer, ZooKeeperServer];
  }

  /** Resolves when every server serves, as part of the ensemble. */
  async allServe(): Promise<void> {
    const allServe = async () =>
      (await Promise.all(this.servers.map((server) => server.mode()))).every((mode) => mode !== '');
    await until(allServe, 'an ensemble that is complete');
  }

  /** Lets nothing through between a server and the two others, and notifies none of them. Its clients still reach it. */
  isolate({ id }: ZooKeeperServer): void {
    if (this.#links.length === 0) throw new Error('only a server with proxied links can be isolated');
    for (const { from, to, proxy } of this.#links) if (from === id || to === id) proxy.partition();
  }
}

interface PeerLink {
  readonly from: number;
  readonly to: number;
  readonly proxy: TcpProxy;
}

/** A server, or a proxy in front of one. */
export interface Endpoint {
  readonly port: number;
  readonly connectString: string;
}

/** The connect string by which a session reaches these servers, or proxies. */
export function connectStringOf(servers: readonly Endpoint[]): string {
  return servers.map((server) => server.connectString).join(',');
}
