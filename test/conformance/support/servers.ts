import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { prefersEmbedded } from '../../../scripts/embedded-zookeeper.mjs';
import { startZooKeeper } from '../../../scripts/zookeeper.mjs';
import { EmbeddedZooKeeper } from '../../../src/testing/index.js';
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

// It would say in every run that it is for tests.
const nothing = () => undefined;
const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing };

type Start = (tickMs: number) => Promise<RunningServer>;

export const startReal: Start = (tickMs) =>
  startZooKeeper({ tickMs, settings: { maxSessionTimeout: MAX_TICKS * tickMs } });
export const startEmbedded: Start = (tickMs) => EmbeddedZooKeeper.start({ tickMs, logger: SILENT });

// `npm run test:fast` does without a JVM.
const KINDS: Record<string, Start> = {
  ...(!prefersEmbedded() && { 'ZooKeeper 3.8': startReal }),
  'the embedded server': startEmbedded,
};

/** A server for the tests of one file: what they do with it ends with each of them. */
export class TestServer {
  #server: RunningServer | undefined;
  readonly tickMs: number;
  readonly #start: Start;

  constructor(start: Start, tickMs: number) {
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

  /** A connection that is for the caller to close. */
  open(options: HandshakeOptions = {}): Promise<RawClient> {
    return RawClient.connect(this.port, options);
  }

  /** A new session, or with an id and a password another connection of one; it is closed when the test has ended. */
  async connect(options: HandshakeOptions = {}): Promise<RawClient> {
    const client = await this.open(options);
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
