import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { connect, type Socket } from 'node:net';
import { type Clock, SystemClock } from '../clock.js';
import type { Server } from './connect-string.js';

/** Everything outside the process that a session depends on, so that a test or a simulation can take its place. */
export interface Environment {
  readonly clock: Clock;
  /** Evenly distributed over [0, 1). */
  random(): number;
  /** A name that nobody else uses. */
  uuid(): string;
  /** The addresses that a host name stands for now. Never called with an address. */
  resolve(host: string): Promise<readonly string[]>;
  /** A socket on its way to `server`, whose host is an address. It emits `connect`, `data`, `error`, `close`. */
  openSocket(server: Server): Socket;
}

export const systemEnvironment: Environment = {
  clock: new SystemClock(),
  random: Math.random,
  uuid: randomUUID,
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  openSocket: (server) => connect(server),
};
