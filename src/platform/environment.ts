import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { connect, type Socket } from 'node:net';
import { type Clock, SystemClock } from './time/clock.js';

/** One server of an ensemble. */
export interface Server {
  readonly host: string;
  readonly port: number;
}

/** Everything outside the process that a session depends on. A test or a simulation can replace it. */
export interface Environment {
  /** Time, and timers. */
  readonly clock: Clock;
  /** Evenly distributed over [0, 1). */
  random(): number;
  /** A name that is used nowhere else. */
  uuid(): string;
  /** The addresses that a host name stands for now. Never called with an address. */
  resolve(host: string): Promise<readonly string[]>;
  /**
   * A socket that connects to `server`, whose host is an address. It emits `connect`, `error`, `close`, and `data`; instead of
   * emitting `data` it may give what arrives to `reader`, in memory that the reader may keep.
   */
  openSocket(server: Server, reader?: Reader): Socket;
}

/** Receives what arrives at a socket. */
export interface Reader {
  read(bytes: Buffer): void;
}

// As much as Node reads at once. Each socket's bytes are copied before the next socket reads: one buffer is enough for all.
const READ_BYTES = 65_536;
let readInto: Buffer | undefined;

/** Its gain: a stream takes 64 kB of memory for each chunk and drops most of it, which was a twentieth of a lock's cycle. */
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
