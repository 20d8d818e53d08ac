import { InvalidOptionError, InvalidStateError } from '../errors.js';
import { checkGivenMs } from '../platform/checks.js';
import { warnOfSetup } from '../platform/logging/logger.js';
import { mark } from '../public-class/instance-brand.js';
import { EmbeddedSession } from './controls/embedded-session.js';
import { checkErrorCode, checkFaultTarget, type Fault, type FaultTarget } from './controls/faults.js';
import { type LoggedEvent, type LoggedRequest, TrafficLog } from './controls/traffic-log.js';
import type { ErrorName, EventType } from './protocol/op-codes.js';
import type { LoggedOperation } from './protocol/requests.js';
import {
  checkSaslUsers,
  type EmbeddedZooKeeperOptions,
  type RestartOptions,
  resolveEmbeddedOptions,
  resolveRestartOptions,
} from './server/embedded-options.js';
import { EmbeddedServer } from './server/embedded-server.js';
import type { SessionRecord } from './state/session-table.js';

/**
 * A ZooKeeper server inside this process, for tests and demos: one server, in memory, on loopback. It speaks ZooKeeper's wire
 * protocol, so every client of a real server can use it. It starts in milliseconds, and a test can make it fail in ways that
 * are impossible with a real server.
 *
 * Guaranteed: the semantics of ZooKeeper 3.8, or with the option `dialect` of 3.9, as a client sees them: nodes, stats, access lists,
 * sessions, watches, transactions, error codes, SASL by DIGEST-MD5. Not guaranteed: anything about durability or performance; there is no
 * ensemble, no TLS, no Kerberos, no quota, no dynamic configuration. **Never use it in production**: its data is gone when the process ends.
 *
 * @example
 * ```ts
 * const server = await EmbeddedZooKeeper.start();
 * const session = await Session.connect(server.connectString);
 * // …
 * server.sessions()[0]?.expire();
 * await server.stop();
 * ```
 */
export class EmbeddedZooKeeper {
  readonly #server: EmbeddedServer;
  readonly #host: string;
  readonly #requests = new TrafficLog<LoggedRequest, LoggedOperation>();
  readonly #events = new TrafficLog<LoggedEvent, EventType>();
  readonly #handles = new WeakMap<SessionRecord, EmbeddedSession>();
  #state: 'up' | 'down' | 'stopped' = 'up';

  private constructor(options: ReturnType<typeof resolveEmbeddedOptions>) {
    this.#host = options.host;
    this.#server = new EmbeddedServer(options, {
      requested: (operation, paths, session, atMs) =>
        this.#requests.add(operation, { operation, paths, session: this.#handle(session), atMs }),
      notified: ({ type, path }, session, atMs) =>
        this.#events.add(type, { type, path, session: this.#handle(session), atMs }),
    });
  }

  /**
   * Starts a server, and logs a warning that it is for tests. Without a `logger` that happens once in the life of the process.
   *
   * @throws InvalidOptionError if an option is wrong: also if `host` is not this machine alone
   * @throws the system's error if the port can't be listened to
   */
  static async start(options?: EmbeddedZooKeeperOptions): Promise<EmbeddedZooKeeper> {
    const resolved = resolveEmbeddedOptions(options);
    const embedded = new EmbeddedZooKeeper(resolved);
    await embedded.#server.listen();
    const { connectString } = embedded;
    warnOfSetup(
      resolved.logger,
      { connectString },
      'the embedded ZooKeeper is for tests and demos only: in memory, and open to every user of this machine',
    );
    return embedded;
  }

  /** Its address, as `Session.connect` takes it. */
  get connectString(): string {
    return this.#host === '::1' ? `[::1]:${this.port}` : `${this.#host}:${this.port}`;
  }

  /** The port it listens to. */
  get port(): number {
    return this.#server.port;
  }

  /** Ends all connections and the server, for good. Calling it again is harmless. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    await this.#server.close();
  }

  /** Stops it, for `await using`: the same as `stop()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** The sessions that are alive, in the order in which they were opened. */
  sessions(): EmbeddedSession[] {
    return [...this.#server.stateMachine.sessions.values()].map((session) => this.#handle(session));
  }

  /** The session that owns the ephemeral node at this path; `undefined` if there is no such node. */
  sessionOf(path: string): EmbeddedSession | undefined {
    const node = this.#server.stateMachine.tree.get(path);
    return node && this.#handle(this.#server.stateMachine.sessions.get(node.ephemeralOwner));
  }

  /** The paths of all nodes at and below `root`, in the order in which they were created. */
  paths(root = '/'): string[] {
    const prefix = root === '/' ? '/' : `${root}/`;
    return [...this.#server.stateMachine.tree.paths()].filter(
      (path) => path === root || path.startsWith(prefix),
    );
  }

  /** The data of the node at this path; `undefined` if there is no such node. */
  data(path: string): Buffer | undefined {
    const node = this.#server.stateMachine.tree.get(path);
    return node && Buffer.from(node.data ?? []);
  }

  /** How many watches clients have set: in all, or at one path. */
  watchCount(path?: string): number {
    const { watches } = this.#server.stateMachine;
    return path === undefined ? watches.count : watches.countAt(path);
  }

  /** How many clients are connected. */
  get connectionCount(): number {
    return this.#server.connections.size;
  }

  /** The latest requests, 10,000 at most, the oldest first. */
  get requests(): readonly LoggedRequest[] {
    return this.#requests.latest;
  }

  /** The latest events that were sent to watchers, 10,000 at most, the oldest first. */
  get events(): readonly LoggedEvent[] {
    return this.#events.latest;
  }

  /** How many requests of this kind came, or of all kinds, since the start or the last {@link resetCounts}. */
  count(operation?: LoggedOperation): number {
    return this.#requests.count(operation);
  }

  /** How many events of this kind were sent to watchers, or of all kinds. */
  countEvents(type?: EventType): number {
    return this.#events.count(type);
  }

  /** Drops the requests, the events and their counts. */
  resetCounts(): void {
    this.#requests.reset();
    this.#events.reset();
  }

  /**
   * Ends the session, or the sessions that `choose` picks, as if their clients had sent nothing for a session timeout.
   *
   * @returns how many sessions were ended
   */
  expireSession(choose: EmbeddedSession | ((session: EmbeddedSession) => boolean)): number {
    const chosen = this.sessions().filter(
      typeof choose === 'function' ? choose : (session) => session === choose,
    );
    for (const session of chosen) session.expire();
    return chosen.length;
  }

  /** Cuts every connection. The sessions stay alive, and clients may connect again. */
  dropConnections(): void {
    for (const connection of this.#server.connections) connection.destroy();
  }

  /**
   * Suspends the server, like a process that was stopped: connections are accepted, nothing is read, nothing is answered, no session ends.
   */
  pause(): void {
    this.#server.faults.paused = true;
    this.#server.faultsChanged();
  }

  /** Ends {@link pause}: the server first reads what clients have sent meanwhile, then ends the sessions that are overdue. */
  resume(): void {
    this.#server.faults.paused = false;
    this.#server.faultsChanged();
  }

  /**
   * Sets the number of the next sequential child of the node at this path: so a test can reach the counter's end,
   * 2147483647, without two billion creations. ZooKeeper 3.8 doesn't count beyond it: all later children get that number.
   *
   * @throws InvalidOptionError if there is no such node, or `next` is no signed 32-bit number
   */
  setNextSequence(path: string, next: number): void {
    const node = this.#server.stateMachine.tree.get(path);
    if (node === undefined) throw new InvalidOptionError('path', path, 'the path of a node');
    if ((next | 0) !== next) throw new InvalidOptionError('next', next, 'a signed 32-bit number');
    node.childrenCreated = next;
  }

  /**
   * Replaces the users of the option `saslUsers`, as an administrator does who changes the servers' JAAS file and restarts them. A server
   * that had none takes SASL from now on. Clients that have authenticated keep their identity until their connection ends.
   *
   * @throws InvalidOptionError naming the user, if a name or a password is wrong
   */
  setSaslUsers(users: Readonly<Record<string, string>>): void {
    this.#server.security.users = checkSaslUsers(users);
  }

  /**
   * Stops at once, like a process that was killed. Its data is kept for {@link restart}.
   *
   * @throws InvalidStateError if it is not up
   */
  async crash(): Promise<void> {
    this.#require('up');
    this.#state = 'down';
    await this.#server.close();
  }

  /**
   * Starts again after {@link crash}, at the same port, with all nodes and sessions. As after a real server's restart, every
   * session has its whole timeout again.
   *
   * With `empty` it has lost its data instead, as a container without a volume does: no nodes, no sessions, and zxids start
   * again, so that it ends the connection of a session that has seen a higher zxid without an answer.
   *
   * @throws InvalidOptionError if an option is wrong
   * @throws InvalidStateError if it is not down
   * @throws the system's error if the port was taken meanwhile
   */
  async restart(options?: RestartOptions): Promise<void> {
    const { empty } = resolveRestartOptions(options);
    this.#require('down');
    if (empty) this.#server.loseData();
    await this.#server.reopen();
    this.#state = 'up';
  }

  /**
   * Drops every byte in both directions, without an error on either side. The server keeps running: sessions expire. For
   * one session alone: {@link EmbeddedSession.partition}.
   */
  partition(): void {
    this.#server.faults.partitioned = true;
  }

  /** Ends {@link partition}. Connections that lost bytes meanwhile are reset. */
  heal(): void {
    this.#server.faults.partitioned = false;
    this.#server.faultsChanged();
  }

  /** Ends every new connection at once, until {@link admit}. Present connections stay. */
  refuse(): void {
    this.#server.faults.refusing = true;
  }

  /** Accepts connections again after {@link refuse}. */
  admit(): void {
    this.#server.faults.refusing = false;
  }

  /**
   * Carries out the next such request, and cuts the connection instead of replying. For `connect`, the session is opened
   * and its client doesn't learn of it.
   *
   * @param target - `times` is 1 by default
   */
  swallowReply(operation: LoggedOperation, target: Omit<FaultTarget, 'operation'> = {}): Fault {
    return this.#server.faults.add({ swallowed: true }, checkFaultTarget({ ...target, operation }, 1));
  }

  /**
   * Answers every request `ms` milliseconds late, or only one kind of request. Later answers and events on the same
   * connection wait for that one, so the order is kept.
   */
  delay(
    ms: number,
    { only, ...target }: Omit<FaultTarget, 'operation'> & { only?: LoggedOperation } = {},
  ): Fault {
    const requests = checkFaultTarget(only === undefined ? target : { ...target, operation: only });
    return this.#server.faults.add({ delayMs: checkGivenMs('ms', ms) }, requests);
  }

  /**
   * Answers requests with an error and doesn't carry them out. A handshake can't fail with an error: there the connection is cut.
   * As with ZooKeeper, the connection ends after an error to `auth` or `sasl`, and after SESSION_CLOSED_REQUIRE_SASL_AUTH.
   *
   * @param error - the name of ZooKeeper's error, or any code
   * @throws InvalidOptionError if there is no error of that name
   */
  failWith(error: ErrorName | number, target: FaultTarget = {}): Fault {
    return this.#server.faults.add({ failCode: checkErrorCode(error) }, checkFaultTarget(target));
  }

  /** Ends all faults that still last. */
  clearFaults(): void {
    this.#server.faults.clear();
    this.#server.faultsChanged();
  }

  #require(state: 'up' | 'down'): void {
    if (this.#state !== state)
      throw new InvalidStateError(`the embedded server is ${this.#state}, not ${state}`);
  }

  #handle(session: SessionRecord): EmbeddedSession;
  #handle(session: SessionRecord | undefined): EmbeddedSession | undefined;
  #handle(session: SessionRecord | undefined): EmbeddedSession | undefined {
    if (session === undefined) return undefined;
    const known = this.#handles.get(session);
    if (known !== undefined) return known;
    const handle = new EmbeddedSession(session, this.#server);
    this.#handles.set(session, handle);
    return handle;
  }
}

mark(EmbeddedZooKeeper, 'EmbeddedZooKeeper');
