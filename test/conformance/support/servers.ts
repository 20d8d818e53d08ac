import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { startZooKeeper } from '../../../scripts/zookeeper.mjs';
import { type HandshakeOptions, RawClient } from './raw-client.js';
import { Wire } from './wire.js';

/** Long enough for the slowest expiry on a busy machine, and short enough to hear of an event that never comes. */
const TEST_TIMEOUT_MS = 15_000;

interface RunningServer {
  readonly connectString: string;
  stop(): Promise<void>;
}

/** The longest session timeout that a server grants, in ticks; the shortest are two. */
const MAX_TICKS = 20;

const KINDS: Record<string, (tickMs: number) => Promise<RunningServer>> = {
  'ZooKeeper 3.8': (tickMs) =>
    startZooKeeper({ tickMs, settings: { maxSessionTimeout: MAX_TICKS * tickMs } }),
};

/** A server for the tests of one file: what they do with it ends with each of them. */
export class TestServer {
  #server: RunningServer | undefined;
  readonly tickMs: number;
  readonly #start: (tickMs: number) => Promise<RunningServer>;

  constructor(start: (tickMs: number) => Promise<RunningServer>, tickMs: number) {
    this.#start = start;
    this.tickMs = tickMs;
  }

  async start(): Promise<void> {
    this.#server = await this.#start(this.tickMs);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  get port(): number {
    return Number(/:(\d+)$/.exec(this.#server?.connectString ?? '')?.[1]);
  }

  /** A new session, or with an id and a password another connection of one. */
  async connect(options: HandshakeOptions = {}): Promise<RawClient> {
    const client = await RawClient.connect(this.port, options);
    onTestFinished(() => client.close());
    return client;
  }

  /** A connection that has said nothing yet. */
  async wire(): Promise<Wire> {
    const wire = await Wire.open(this.port);
    onTestFinished(() => wire.destroy());
    return wire;
  }
}

export interface ServerOptions {
  /** How fine expiry is told. Sessions last 2 to 20 of them. @default 2000 */
  readonly tickMs?: number;
}

/**
 * Runs the same tests against each kind of server, one of each for a whole file.
 *
 * What they expect was first seen in real ZooKeeper. A difference is a fault of the other server.
 */
export function forEachServer(
  tests: (server: TestServer) => void,
  { tickMs = 2000 }: ServerOptions = {},
): void {
  describe.each(Object.entries(KINDS))('on %s', { timeout: TEST_TIMEOUT_MS }, (_name, start) => {
    const server = new TestServer(start, tickMs);
    beforeAll(() => server.start());
    afterAll(() => server.stop());
    tests(server);
  });
}

/** A path that no other test uses. */
export function freshPath(name = 'node'): string {
  return `/${name}-${randomUUID().slice(0, 8)}`;
}
