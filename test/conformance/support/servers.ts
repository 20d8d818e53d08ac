import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { type Dialect, EmbeddedZooKeeper } from '../../../src/testing/index.js';
import { prefersEmbedded } from '../../../tools/zookeeper/embedded.mjs';
import { startZooKeeper } from '../../../tools/zookeeper/ensemble.mjs';
import { installedVersion } from '../../../tools/zookeeper/installation.mjs';
import type { ZooKeeperServer } from '../../../tools/zookeeper/server.mjs';
import { jaasFor, SASL_PROVIDER } from '../../support/servers/jaas.js';
import { SILENT } from '../../support/silent-logger.mjs';
import { endsWithTest } from '../../support/vitest/test-end.js';
import { auth, create } from '../../support/wire/operations.js';
import { type HandshakeOptions, RawClient } from '../../support/wire/raw-client.js';
import { RawConnection } from '../../support/wire/raw-connection.js';
import { hasWhatCameWith, parseRelease, type Release } from './release.js';

/** Long enough for the slowest expiry on a busy machine, and short enough that a test soon fails if an event never comes. */
const TEST_TIMEOUT_MS = 15_000;

interface RunningServer {
  readonly connectString: string;
  stop(): Promise<void>;
  /** Restarts the server at the same address, without its data. */
  restartEmpty(): Promise<void>;
}

/** The longest session timeout that a server grants, in ticks. The shortest is two ticks. */
const MAX_TICKS = 20;

/** Who can authenticate at a server, and who must. */
export interface Security {
  /** By default the server has no SASL. */
  readonly saslUsers?: Readonly<Record<string, string>>;
  readonly requireAuth?: readonly ('sasl' | 'digest')[];
}

type Start = (tickMs: number, security?: Security) => Promise<RunningServer>;

/** Starts a real server, with lines of `zoo.cfg` of its own if they are given. */
export async function startReal(
  tickMs: number,
  { saslUsers, requireAuth }: Security = {},
  settings: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const { servers, connectString, stop } = await startZooKeeper({
    tickMs,
    settings: {
      maxSessionTimeout: MAX_TICKS * tickMs,
      ...(saslUsers !== undefined && SASL_PROVIDER),
      ...(requireAuth !== undefined && {
        'enforce.auth.enabled': 'true',
        'enforce.auth.schemes': requireAuth.join(','),
      }),
      ...settings,
    },
    ...(saslUsers !== undefined && { jaas: jaasFor(saslUsers) }),
  });
  const restartEmpty = async () => {
    for (const server of servers as readonly ZooKeeperServer[]) {
      await server.kill();
      await server.forget();
      await server.start();
    }
  };
  return { connectString, stop, restartEmpty };
}

export const startEmbeddedAs =
  (dialect: Dialect): Start =>
  async (tickMs, security) => {
    const server = await EmbeddedZooKeeper.start({ tickMs, dialect, logger: SILENT, ...security });
    const { connectString } = server;
    const restartEmpty = async () => {
      await server.crash();
      await server.restart({ empty: true });
    };
    return { connectString, stop: () => server.stop(), restartEmpty };
  };

// `npm run test:fast` must work without a JVM.
const installed = prefersEmbedded() ? undefined : await installedVersion();
/** The dialect in which the embedded server is compared with the real server. */
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

/** A server for the tests of one file. The connections and sessions of a test end with the test. */
export class TestServer {
  #server: RunningServer | undefined;
  readonly tickMs: number;
  readonly #release: Release;
  readonly #start: Start;
  readonly #security: Security | undefined;

  constructor({ release, start }: Kind, tickMs: number, security?: Security) {
    this.#release = parseRelease(release);
    this.#start = start;
    this.#security = security;
    this.tickMs = tickMs;
  }

  async start(): Promise<void> {
    this.#server = await this.#start(this.tickMs, this.#security);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  /** Restarts the server at the same address, without its data, like a container without a volume. */
  async restartEmpty(): Promise<void> {
    await this.#server?.restartEmpty();
  }

  /**
   * Whether the server behaves like one of these releases of ZooKeeper or a later one, for expectations that hold only for some
   * releases. If a fix came to several lines of releases, name the first release of each line.
   */
  isSince(...releases: readonly string[]): boolean {
    return hasWhatCameWith(this.#release, ...releases);
  }

  get port(): number {
    return Number(/:(\d+)$/.exec(this.#server?.connectString ?? '')?.[1]);
  }

  /** Opens a connection. The caller must close it. */
  open(options: HandshakeOptions = {}): Promise<RawClient> {
    return RawClient.connect(this.port, options);
  }

  /** Opens a new session, or another connection of the session with the given id and password. It is closed at the end of the test. */
  async connect(options: HandshakeOptions = {}): Promise<RawClient> {
    return endsWithTest(await this.open(options));
  }

  /** A new session with the identity of a user, given as `name:password`. */
  async connectAs(user: string): Promise<RawClient> {
    const client = await this.connect();
    await client.do(auth('digest', user));
    return client;
  }

  /** A new session, and a path that no other test uses. */
  async withPath(): Promise<{ client: RawClient; path: string }> {
    return { client: await this.connect(), path: freshPath() };
  }

  /** As {@link withPath}, with a node at the path, which is empty by default. */
  async withNode(node: Parameters<typeof create>[1] = {}): Promise<{ client: RawClient; path: string }> {
    const { client, path } = await this.withPath();
    await client.do(create(path, node));
    return { client, path };
  }

  /** Opens a connection, and sends nothing over it. */
  async rawConnection(): Promise<RawConnection> {
    const connection = await RawConnection.open(this.port);
    onTestFinished(() => connection.destroy());
    return connection;
  }
}

export interface ServerOptions extends Security {
  /** The interval at which the server expires sessions. A session timeout is 2 to 20 such intervals. @default 2000 */
  readonly tickMs?: number;
}

/**
 * Runs the same tests against each kind of server, with one server of each kind for a whole file.
 *
 * Each expected behavior was first seen in real ZooKeeper. If the embedded server differs, it is wrong. Where releases of ZooKeeper
 * differ, the test's name says which release it is about.
 */
export function forEachServer(
  tests: (server: TestServer) => void,
  { tickMs = 2000, ...security }: ServerOptions = {},
): void {
  runOn(KINDS, (kind) => new TestServer(kind, tickMs, security), tests);
}

/**
 * Runs tests of a server with settings that the embedded server doesn't have. They say what clients have to expect. They are skipped if a run
 * does without a real server, as `npm run test:fast` does.
 */
export function forARealServer(
  {
    security,
    settings,
  }: { readonly security?: Security; readonly settings: Readonly<Record<string, string>> },
  tests: (server: TestServer) => void,
): void {
  const start: Start = (tickMs) => startReal(tickMs, security, settings);
  const real = Object.entries(KINDS).filter(([, kind]) => kind.start === startReal);
  const newServer = (kind: Kind) => new TestServer({ ...kind, start }, 2000);
  if (real.length > 0) runOn(Object.fromEntries(real), newServer, tests);
  else describe.skip('on a real server', () => tests(newServer({ release: '0.0.0', start })));
}

function runOn(
  kinds: Readonly<Record<string, Kind>>,
  newServer: (kind: Kind) => TestServer,
  tests: (server: TestServer) => void,
): void {
  describe.each(Object.entries(kinds))('on %s', { timeout: TEST_TIMEOUT_MS }, (_name, kind) => {
    const server = newServer(kind);
    beforeAll(() => server.start());
    afterAll(() => server.stop());
    tests(server);
  });
}

/** A path that no other test uses. */
export function freshPath(name = 'node'): string {
  return `/${name}-${randomUUID().slice(0, 8)}`;
}
