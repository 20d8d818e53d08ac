import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { connect, type Socket } from 'node:net';
import type { Worker } from 'node:worker_threads';
import { type Clock, SystemClock } from './time/clock.js';

/** One server of an ensemble. */
export interface Server {
  readonly host: string;
  readonly port: number;
}

/** Everything outside the process on which a session depends. A test or a simulation can replace it. */
export interface Environment {
  /** The clock, with its timers. */
  readonly clock: Clock;
  /** A random number, evenly distributed over [0, 1). */
  random(): number;
  /** A new uuid, which is used nowhere else. */
  uuid(): string;
  /** Looks up the present addresses of a host name. Never called with an address. */
  resolve(host: string): Promise<readonly string[]>;
  /**
   * Opens a socket that connects to `server`, whose host is an address. The socket emits `connect`, `error`, `close` and `data`.
   * Instead of emitting `data` it may give the bytes that arrive to `reader`, in memory that the reader may keep.
   */
  openSocket(server: Server, reader?: Reader): Socket;
  /** @internal Starts the thread that holds the connections of sessions with `maxStallMs`. @default Node's, for the machine's environment */
  startThread?(): Worker;
}

/** Receives the bytes that arrive at a socket. */
export interface Reader {
  read(bytes: Buffer): void;
}

// As much as Node reads at once. One buffer is enough for all sockets, because each socket's bytes are copied before the next socket reads.
const READ_BYTES = 65_536;
let readInto: Buffer | undefined;

/**
 * Opens a socket that doesn't emit `data`. A stream would take 64 kB of memory for each chunk and drop most of it, which cost a
 * twentieth of a lock's cycle.
 */
function connectTo(server: Server, reader: Reader): Socket {
  readInto ??= Buffer.allocUnsafeSlow(READ_BYTES);
  const callback = (length: number, bytes: Uint8Array) => {
    reader.read(Buffer.from(bytes.subarray(0, length)));
    return true; // Go on reading.
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
