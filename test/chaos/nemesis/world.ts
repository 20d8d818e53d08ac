import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Session } from '../../../src/index.js';
import { startZooKeeper } from '../../../tools/zookeeper/ensemble.mjs';
import type { ZooKeeperServer } from '../../../tools/zookeeper/server.mjs';

import { TcpProxy } from '../../support/faults/tcp-proxy.mjs';
import { type History, type Journal, now } from './history.js';
import { type Link, ProxiedLink, WiredLink } from './link.js';
import { Network, reasonOf } from './network.js';
import { type Kind, kindsOf, type Links } from './schedule.js';
import {
  INIT_LIMIT,
  JOURNALS,
  SERVERS,
  SESSION_TIMEOUT_MS,
  SYNC_LIMIT,
  TICK_MS,
  WORKERS,
} from './settings.js';
import { SmallDisk } from './small-disk.js';
import { maxStallMsOf } from './stall-settings.js';
import { WallClock } from './wall-clock.js';
import { WorkerProcess } from './worker-process.js';

const SINK = join(import.meta.dirname, 'sink.js');
// After so long without a report from a leader it isn't known whether it still leads.
const LEADS_FOR_MICROS = 1_000_000;
// A process that stands still reports nothing.
const LEADER_TELLS_WITHIN_MS = 1000;
const SERVE_WITHIN_MS = 60_000;

export interface WorldOptions {
  readonly folder: string;
  readonly history: History;
  readonly historyPath: string;
  readonly links: Links;
  readonly hasTakeoverDelay: boolean;
  readonly areThreadsCareless: boolean;
  readonly areLeasesFromReplies: boolean;
  readonly seed: number;
}

/** Three servers, the workers, the links between workers and servers, and the sinks; and the faults that the machine allows. */
export class World {
  readonly workers: WorkerProcess[] = [];
  readonly history: History;
  /** Why this machine doesn't allow faults of these kinds. */
  readonly notAllowed = new Map<Kind, string>();
  /** Targets with a fault that excludes another one, because either would undo the other. */
  readonly busy = new Set<string>();
  network: Network | undefined;
  disks: SmallDisk[] = [];
  /** The servers' wall clocks. */
  clocks: WallClock[] = [];
  servers: readonly ZooKeeperServer[] = [];
  readonly #options: WorldOptions;
  readonly #ends: (() => unknown)[] = [];

  private constructor(options: WorldOptions) {
    this.#options = options;
    this.history = options.history;
  }

  static async open(options: WorldOptions): Promise<World> {
    const world = new World(options);
    try {
      await world.#prepareMachine();
      await world.#startServers();
      return world;
    } catch (error) {
      await world.close();
      throw error;
    }
  }

  /** Starts the workers: from here on there are events to write down. */
  async begin(): Promise<void> {
    await this.#startWorkers(await this.#startSink());
  }

  /** The worker that leads an election, or holds a lock, as far as is known. */
  actorOf({ name }: Journal): WorkerProcess | undefined {
    const since = now() - LEADS_FOR_MICROS;
    return this.workers.find(({ actedAt }) => (actedAt.get(name) ?? 0) > since);
  }

  /** The server that leads, as soon as one says so; `undefined` if none does in time. */
  async leadingServer(): Promise<ZooKeeperServer | undefined> {
    const none = pause(LEADER_TELLS_WITHIN_MS).then(() => undefined);
    const leading = this.servers.map(async (server) => {
      if ((await server.mode()) === 'leader') return server;
      throw new Error('it follows');
    });
    return await Promise.race([Promise.any(leading).catch(() => undefined), none]);
  }

  /** Resolves when all servers serve. */
  async allServe(): Promise<void> {
    const deadline = performance.now() + SERVE_WITHIN_MS;
    for (;;) {
      const modes = await Promise.all(this.servers.map((server) => server.mode()));
      if (modes.every((mode) => mode !== '')) return;
      if (performance.now() > deadline) throw new Error(`servers don't serve: ${modes.join(', ')}`);
      await pause(100);
    }
  }

  /** Restarts all servers that don't serve, as an operator would at last. */
  async restartServers(): Promise<void> {
    const restart = async (server: ZooKeeperServer) => {
      if ((await server.mode()) !== '') return;
      await server.kill('SIGKILL');
      await server.start();
    };
    await Promise.all(this.servers.map(restart));
  }

  /** A session of the run itself, not of a worker: no fault affects its way to the servers. */
  async withSession<T>(
    connectTimeoutMs: number,
    work: (session: Session) => Promise<T>,
    servers = this.servers,
  ): Promise<T> {
    const connect = servers.map((server) => server.connectString).join(',');
    const options = { sessionTimeoutMs: SESSION_TIMEOUT_MS, connectTimeoutMs };
    const session = await Session.connect(connect, options);
    try {
      return await work(session);
    } finally {
      await session.close();
    }
  }

  /** The nodes of the contenders in a queue, in their order. */
  async contendersIn(session: Session, path: string): Promise<string[]> {
    const children = await session.retryUntilAnswered(() => session.getChildren(path));
    const numberOf = (name: string) => Number(name.slice(name.lastIndexOf('-') + 1));
    return children
      .filter((name) => name.startsWith('_c_'))
      .sort((a, b) => numberOf(a) - numberOf(b))
      .map((name) => `${path}/${name}`);
  }

  async close(): Promise<void> {
    for (const end of this.#ends.reverse()) await end();
  }

  async #prepareMachine(): Promise<void> {
    if (this.#options.links === 'wired') await this.#openNetwork(SERVERS + WORKERS);
    else
      await this.#tryOut(
        ['a server is cut off from the others', 'two servers are cut off from each other'],
        () => this.#openNetwork(SERVERS),
      );
    await this.#tryOut(["a server's disk is full"], () => {
      for (let id = 1; id <= SERVERS; id++) {
        const disk = SmallDisk.mount();
        this.#ends.push(() => disk.close());
        this.disks.push(disk);
      }
    });
    const ofClocks: Kind[] = [
      "a worker's wall clock jumps",
      "a server's wall clock jumps",
      'clocks are 2 s apart',
    ];
    await this.#tryOut(ofClocks, () => {
      for (let id = 1; id <= SERVERS; id++)
        this.clocks.push(new WallClock(join(this.#options.folder, `server-${id}.clock`)));
    });
  }

  async #openNetwork(size: number): Promise<void> {
    const network = await Network.open(size);
    this.network = network;
    this.#ends.push(() => network.close());
  }

  async #tryOut(kinds: readonly Kind[], prepare: () => unknown): Promise<void> {
    try {
      await prepare();
    } catch (error) {
      const why = reasonOf(error as Error);
      const drawn = kindsOf(this.#options.links);
      for (const kind of kinds) if (drawn.includes(kind)) this.notAllowed.set(kind, why);
    }
  }

  async #startServers(): Promise<void> {
    const machines = Array.from({ length: SERVERS }, (_, index) => {
      const id = index + 1;
      const { network } = this;
      const disk = this.disks[index];
      const env = this.clocks[index]?.env;
      return {
        host: network?.addressOf(id) ?? '127.0.0.1',
        ...(network && { launcher: network.launcherOf(id) }),
        ...(disk && { folder: disk.dataFolder }),
        ...(env && { env }),
      };
    });
    const { servers, stop } = await startZooKeeper({
      servers: SERVERS,
      tickMs: TICK_MS,
      // A log takes a megabyte at the beginning, where it would take 64: the disks are small.
      settings: { syncLimit: SYNC_LIMIT, initLimit: INIT_LIMIT, preAllocSize: 1024 },
      machines,
    });
    this.#ends.push(stop);
    this.servers = servers;
    await this.allServe();
  }

  async #startSink(): Promise<string> {
    const { folder, historyPath } = this.#options;
    const path = join(folder, 'sink');
    const sink = fork(SINK, [path, historyPath], { execArgv: [] });
    this.#ends.push(() => endNow(sink));
    sink.once('exit', (code, signal) => {
      if (signal !== 'SIGKILL')
        this.history.write({ kind: 'failure', what: `the sink ended: ${code ?? signal}` });
    });
    await once(sink, 'message');
    return path;
  }

  async #startWorkers(sinkPath: string): Promise<void> {
    const { historyPath, hasTakeoverDelay, areThreadsCareless, areLeasesFromReplies, folder, seed } =
      this.#options;
    const orders = {
      historyPath,
      sinkPath,
      journals: JOURNALS,
      sessionTimeoutMs: SESSION_TIMEOUT_MS,
      hasTakeoverDelay,
      areThreadsCareless,
      areLeasesFromReplies,
    };
    for (let number = 1; number <= WORKERS; number++) {
      const link = await this.#linkOf(number);
      const clock =
        this.clocks.length > 0 ? new WallClock(join(folder, `worker-${number}.clock`)) : undefined;
      const worker = new WorkerProcess(number, link, clock, this.history, orders, (start) =>
        maxStallMsOf(seed, number - 1, start, WORKERS),
      );
      this.workers.push(worker);
      this.#ends.push(() => worker.kill());
    }
    process.once('exit', () => {
      for (const worker of this.workers) worker.killNow();
    });
    await Promise.all(this.workers.map((worker) => worker.start()));
  }

  async #linkOf(worker: number): Promise<Link> {
    const addresses = this.servers.map(({ connectString }) => connectString);
    if (this.#options.links === 'wired' && this.network !== undefined)
      return new WiredLink(this.network, SERVERS + worker, addresses.join(','));
    const proxies = await Promise.all(addresses.map((address) => TcpProxy.start(address)));
    this.#ends.push(() => Promise.all(proxies.map((proxy) => proxy.stop())));
    return new ProxiedLink(proxies);
  }
}

async function endNow(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
