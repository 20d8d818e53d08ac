import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { connect, type Socket } from 'node:net';
import { type Clock, SystemClock } from './time/clock.js';

/** One server of an ensemble. */
export interface Server {
  readonly host: string;
  readonly port: number;
}

/** Everything outside the process that a session depends on, so that a test or a simulation can take its place. */
export interface Environment {
  readonly clock: Clock;
  /** Evenly distributed over [0, 1). */
  random(): number;
  /** A name that nobody else uses. */
  uuid(): string;
  /** The addresses that a host name stands for now. Never called with an address. */
  resolve(host: string): Promise<readonly string[]>;
  /**
   * A socket on its way to `server`, whose host is an address. It emits `connect`, `error`, `close`, and `data` unless it
   * gives what comes to `reader` instead, if there is one: memory that the reader may keep.
   */
  openSocket(server: Server, reader?: Reader): Socket;
}

/** Who is given what a socket receives. */
export interface Reader {
  read(bytes: Buffer): void;
}

// As much as Node reads at once. What was read is copied before the next one reads: so one is enough for all.
const READ_BYTES = 65_536;
let readInto: Buffer | undefined;

/** A stream would take so much memory for each piece that comes, and let go of most of it: a twentieth of a lock's cycle. */
function connectTo(server: Server, reader: Reader): Socket {
  readInto ??= Buffer.allocUnsafeSlow(READ_BYTES);
  const callback = (length: number, bytes: Uint8Array) => {
    reader.read(Buffer.from(bytes.subarray(0, length)));
    return true; // Goes on.
  };
  return connect({ ...server, onread: { buffer: readInto, callback } });
}

export const systemEnvironment: Environment = {
  clock: new SystemClock(),
  random: Math.random,
  uuid: randomUUID,
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  openSocket: (server, reader) => (reader === undefined ? connect(server) : connectTo(server, reader)),
};
