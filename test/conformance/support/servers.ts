import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { type Dialect, EmbeddedZooKeeper } from '../../../src/testing/index.js';
import { prefersEmbedded } from '../../../tools/zookeeper/embedded.mjs';
import { startZooKeeper } from '../../../tools/zookeeper/ensemble.mjs';
import { installedVersion } from '../../../tools/zookeeper/installation.mjs';
import type { ZooKeeperServer } from '../../../tools/zookeeper/server.mjs';
import { SILENT } from '../../support/silent-logger.mjs';
import { type HandshakeOptions, RawClient } from '../../support/wire/raw-client.js';
import { RawConnection } from '../../support/wire/raw-connection.js';
import { hasWhatCameWith, parseRelease, type Release } from './release.js';

/** Long enough for the slowest expiry on a busy machine, and short enough to hear of an event that never comes. */
const TEST_TIMEOUT_MS = 15_000;

interface RunningServer {
  readonly connectString: string;
  stop(): Promise<void>;
  /** Has it begin again with nothing of what it knew. */
  restartEmpty(): Promise<void>;
}

/** The longest session timeout that a server grants, in ticks; the shortest are two. */
const MAX_TICKS = 20;

type Start = (tickMs: number) => Promise<RunningServer>;

export const startReal: Start = async (tickMs) => {
  const { servers, connectString, stop } = await startZooKeeper({
    tickMs,
    settings: { maxSessionTimeout: MAX_TICKS * tickMs },
  });
  const restartEmpty = async () => {
    for (const server of servers as readonly ZooKeeperServer[]) {
      await server.kill();
      await server.forget();
      await server.start();
    }
  };
  return { connectString, stop, restartEmpty };
};
export const startEmbeddedAs =
  (dialect: Dialect): Start =>
  async (tickMs) => {
    const server = await EmbeddedZooKeeper.start({ tickMs, dialect, logger: SILENT });
    const { connectString } = server;
    const restartEmpty = async () => {
      await server.crash();
      await server.restart({ empty: true });
    };
    return { connectString, stop: () => server.stop(), restartEmpty };
  };

// `npm run test:fast` does without a JVM.
const installed = prefersEmbedded() ? undefined : await installedVersion();
/** As which the embedded server is compared with the real one. */
export const INSTALLED_DIALECT: Dialect =
  installed !== undefined && hasWhatCameWith(parseRelease(installed), '3.9.0') ? '3.9' : '3.8';

interface Kind {
  readonly release: string;
  readonly start: Start;
}

const KINDS: Record<string, Kind> = {
  ...(installed !== undefined && { [`ZooKeeper ${installed}`]: { release: installed, start: startReal } }),
  'the embedded server as 3.8': { release: '3.8.0', start: startEmbeddedAs('3.8') },
  'the embedded server as 3.9': { release: '3.9.5', start: startEmbeddedAs('3.9') },
};

/** A server for the tests of one file: what they do with it ends with each of them. */
export class TestServer {
  #server: RunningServer | undefined;
  readonly tickMs: number;
  readonly #release: Release;
  readonly #start: Start;

  constructor({ release, start }: Kind, tickMs: number) {
    this.#release = parseRelease(release);
    this.#start = start;
    this.tickMs = tickMs;
  }

  async start(): Promise<void> {
    this.#server = await this.#start(this.tickMs);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  /** As a container without a volume: the same address, and nothing of what it knew. */
  async restartEmpty(): Promise<void> {
    await this.#server?.restartEmpty();
  }

  /**
   * Whether it is a ZooKeeper of these releases or a later one: for sentences that hold for some. Of a fix that came to
   * several lines the first release of each is named.
   */
  isSince(...releases: readonly string[]): boolean {
    return hasWhatCameWith(this.#release, ...releases);
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

  /** A connection over which nothing was sent yet. */
  async rawConnection(): Promise<RawConnection> {
    const connection = await RawConnection.open(this.port);
    onTestFinished(() => connection.destroy());
    return connection;
  }
}

export interface ServerOptions {
  /** The interval at which the server expires sessions. Sessions last 2 to 20 of them. @default 2000 */
  readonly tickMs?: number;
}

/**
 * Runs the same tests against each kind of server, one of each for a whole file.
 *
 * What they expect was first seen in real ZooKeeper. A difference is a fault of the other server; where releases of
 * ZooKeeper differ, the sentence says for which it holds.
 */
export function forEachServer(
  tests: (server: TestServer) => void,
  { tickMs = 2000 }: ServerOptions = {},
): void {
  describe.each(Object.entries(KINDS))('on %s', { timeout: TEST_TIMEOUT_MS }, (_name, kind) => {
    const server = new TestServer(kind, tickMs);
    beforeAll(() => server.start());
    afterAll(() => server.stop());
    tests(server);
  });
}

/** A path that no other test uses. */
export function freshPath(name = 'node'): string {
  return `/${name}-${randomUUID().slice(0, 8)}`;
}
