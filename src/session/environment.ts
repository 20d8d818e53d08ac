import { randomUUID } from 'node:crypto';
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
  /** A socket on its way to `server`. It emits `connect`, `data`, `error`, `close`. */
  openSocket(server: Server): Socket;
}

export const systemEnvironment: Environment = {
  clock: new SystemClock(),
  random: Math.random,
  uuid: randomUUID,
  openSocket: (server) => connect(server),
};
