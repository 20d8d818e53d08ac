import type { TcpProxy } from '../../support/faults/tcp-proxy.mjs';
import { type Mend, type Network, waysBetween } from './network.js';
import type { Way } from './schedule.js';

/** How a worker reaches the servers, and faults on the way. The servers are given by their indices. */
export interface Link {
  /** The servers, as the worker has to call them. */
  readonly connect: string;
  /** A command that runs the worker's program where the link begins; empty for none. */
  readonly launcher: readonly string[];
  /** Nothing comes through any more, and neither side gets notice of that. */
  cut(servers: readonly number[], way: Way): Promise<Mend>;
  /** Connections are reset, and new ones refused. */
  reset(servers: readonly number[]): Promise<Mend>;
}

const DIRECTIONS = { both: 'both', there: 'upstream', back: 'downstream' } as const;

/** A proxy on the way to each server. What is sent into a cut arrives when the cut is over, as when TCP sends it again. */
export class ProxiedLink implements Link {
  readonly launcher = [];
  readonly proxies: readonly TcpProxy[];

  constructor(proxies: readonly TcpProxy[]) {
    this.proxies = proxies;
  }

  get connect(): string {
    return this.proxies.map((proxy) => proxy.connectString).join(',');
  }

  async cut(servers: readonly number[], way: Way): Promise<Mend> {
    return mendAll(this.#to(servers).map((proxy) => proxy.partition(DIRECTIONS[way])));
  }

  async reset(servers: readonly number[]): Promise<Mend> {
    return mendAll(this.#to(servers).map((proxy) => proxy.cut()));
  }

  #to(servers: readonly number[]): readonly TcpProxy[] {
    return this.proxies.filter((_, index) => servers.includes(index));
  }
}

/** A network of its own, with a cable to the bridge on which the servers are. Packets are lost or answered where they arrive. */
export class WiredLink implements Link {
  readonly connect: string;
  readonly launcher: readonly string[];
  /** Its number in the network. A server's is one more than its index. */
  readonly end: number;
  readonly #network: Network;

  constructor(network: Network, end: number, connect: string) {
    this.#network = network;
    this.end = end;
    this.connect = connect;
    this.launcher = network.launcherOf(end);
  }

  async cut(servers: readonly number[], way: Way): Promise<Mend> {
    return await this.#network.cut(servers.flatMap((server) => waysBetween(this.end, server + 1, way)));
  }

  async reset(servers: readonly number[]): Promise<Mend> {
    return await this.#network.reset(servers.flatMap((server) => waysBetween(this.end, server + 1, 'both')));
  }
}

export function mendAll(mends: readonly Mend[]): Mend {
  return async () => {
    for (const mend of mends) await mend();
  };
}
