import { mark } from '../classes/copies.js';
import { InvalidOptionError, InvalidStateError } from '../errors.js';
import { checkMs } from '../platform/checks.js';
import { EmbeddedSession } from './controls/embedded-session.js';
import type { Fault, FaultTarget } from './controls/faults.js';
import {
  type LoggedEvent,
  type LoggedOperation,
  type LoggedRequest,
  RequestLog,
} from './controls/request-log.js';
import { TestClock } from './controls/test-clock.js';
import {
  type EmbeddedZooKeeperOptions,
  type RestartOptions,
  resolveEmbeddedOptions,
  resolveRestartOptions,
} from './embedded-options.js';
import { ERROR_CODES, type ErrorName, type EventType } from './protocol/op-codes.js';
import { OPERATION_NAMES } from './protocol/requests.js';
import { Server } from './server/server.js';
import type { SessionRecord } from './state/session-table.js';

/**
 * A ZooKeeper server inside this process, for tests and demos: one server, in memory, on loopback, speaking ZooKeeper's
 * wire protocol, so that whatever speaks to a real one speaks to it. It starts in milliseconds, and can be told to fail
 * in ways that a real server can't.
 *
 * Guaranteed: the semantics of ZooKeeper 3.8, or by the option `dialect` of 3.9, as a client sees them: nodes, stats, access lists, sessions, watches,
 * transactions, error codes. Not guaranteed: anything about durability or performance; there is no ensemble, no TLS, no
 * SASL, no quota, no dynamic configuration. **Never for production**: what it knows ends with the process.
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
  readonly #server: Server;
  readonly #host: string;
  readonly #log = new RequestLog();
  readonly #handles = new WeakMap<SessionRecord, EmbeddedSession>();
  #state: 'up' | 'down' | 'stopped' = 'up';

  private constructor(options: ReturnType<typeof resolveEmbeddedOptions>) {
    this.#host = options.host;
    const { clock } = options;
    this.#server = new Server(options, {
      accepted: (socket) => {
        if (clock instanceof TestClock) clock.watch(socket);
      },
      requested: (operation, paths, session, atMs) =>
        this.#log.addRequest({ operation, paths, session: this.#handle(session), atMs }),
      notified: ({ type, path }, session, atMs) =>
        this.#log.addEvent({ type, path, session: this.#handle(session), atMs }),
    });
  }

  /**
   * Starts a server, and says in a warning that it is one for tests.
   *
   * @throws InvalidOptionError if an option is wrong: also if `host` is not this machine alone
   * @throws the system's error if the port can't be listened to
   */
  static async start(options?: EmbeddedZooKeeperOptions): Promise<EmbeddedZooKeeper> {
    const resolved = resolveEmbeddedOptions(options);
    const embedded = new EmbeddedZooKeeper(resolved);
    await embedded.#server.listen();
    const { connectString } = embedded;
    resolved.logger.warn(
      { connectString },
      `Embedded ZooKeeper at ${connectString}: for tests and demos only, in memory and open to everybody on this machine`,
    );
    return embedded;
  }

  /** Where it is, as `Session.connect` takes it. */
  get connectString(): string {
    return this.#host === '::1' ? `[::1]:${this.port}` : `${this.#host}:${this.port}`;
  }

  get port(): number {
    return this.#server.port;
  }

  /** Ends all connections and the server, for good. Calling it again is harmless. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    await this.#server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  // What it knows.

  /** The sessions that live, in the order in which they were opened. */
  sessions(): EmbeddedSession[] {
    return [...this.#server.keeper.sessions.values()].map((session) => this.#handle(session));
  }

  /** The session that owns the ephemeral node at this path; `undefined` if there is no such node. */
  sessionOf(path: string): EmbeddedSession | undefined {
    const node = this.#server.keeper.tree.get(path);
    return node && this.#handle(this.#server.keeper.sessions.get(node.ephemeralOwner));
  }

  /** The paths of all nodes at and below `root`, in the order in which they were created. */
  paths(root = '/'): string[] {
    const prefix = root === '/' ? '/' : `${root}/`;
    return [...this.#server.keeper.tree.paths()].filter((path) => path === root || path.startsWith(prefix));
  }

  /** The data of the node at this path; `undefined` if there is no such node. */
  data(path: string): Buffer | undefined {
    const node = this.#server.keeper.tree.get(path);
    return node && Buffer.from(node.data ?? []);
  }

  /** How many watches clients have left with the server: all, or those at one path. */
  watchCount(path?: string): number {
    const { watches } = this.#server.keeper;
    return path === undefined ? watches.count : watches.countAt(path);
  }

  /** How many clients are connected. */
  get connectionCount(): number {
    return this.#server.connections.size;
  }

  // What it was asked.

  /** The latest requests, 10,000 at most, the oldest first. */
  get requests(): readonly LoggedRequest[] {
    return this.#log.requests;
  }

  /** The latest events that watchers were told of, 10,000 at most, the oldest first. */
  get events(): readonly LoggedEvent[] {
    return this.#log.events;
  }

  /** How many requests of this kind came, or of all kinds, since the start or the last {@link resetCounts}. */
  count(operation?: LoggedOperation): number {
    return this.#log.countRequests(operation);
  }

  /** How many events of this kind watchers were told of, or of all kinds. */
  countEvents(type?: EventType): number {
    return this.#log.countEvents(type);
  }

  /** Forgets the requests, the events and their counts. */
  resetCounts(): void {
    this.#log.reset();
  }

  // What is done to it.

  /**
   * Ends the sessions that `choose` picks, or this one, as if their clients had been silent for too long.
   *
   * @returns how many were ended
   */
  expireSession(choose: EmbeddedSession | ((session: EmbeddedSession) => boolean)): number {
    const chosen = this.sessions().filter(
      typeof choose === 'function' ? choose : (session) => session === choose,
    );
    for (const session of chosen) session.expire();
    return chosen.length;
  }

  /** Cuts every connection. The sessions live on, and clients may connect again. */
  dropConnections(): void {
    for (const connection of this.#server.connections) connection.destroy();
  }

  /**
   * Stands still from now on, like a process that was stopped: connections are accepted, nothing is read, nothing is
   * answered, no session ends.
   */
  pause(): void {
    this.#server.faults.paused = true;
    this.#server.faultsChanged();
  }

  /** Goes on after {@link pause}: first with what clients sent meanwhile, then ending the sessions that are overdue. */
  resume(): void {
    this.#server.faults.paused = false;
    this.#server.faultsChanged();
  }

  /**
   * Sets what the next sequential child of the node at this path is numbered: to see what happens at the counter's end,
   * 2147483647, without two billion creations. ZooKeeper 3.8 doesn't count beyond it: later children get it too.
   *
   * @throws InvalidOptionError if there is no such node, or `next` is no signed 32-bit number
   */
  setNextSequence(path: string, next: number): void {
    const node = this.#server.keeper.tree.get(path);
    if (node === undefined) throw new InvalidOptionError('path', path, 'the path of a node');
    if ((next | 0) !== next) throw new InvalidOptionError('next', next, 'a signed 32-bit number');
    node.childrenCreated = next;
  }

  /** Goes away at once, like a process that was killed; what it knows is kept for {@link restart}. @throws InvalidStateError if it is not up */
  async crash(): Promise<void> {
    this.#require('up');
    this.#state = 'down';
    await this.#server.close();
  }

  /**
   * Comes back after {@link crash}, at the same port, with all nodes and sessions. As after a real server's restart, every
   * session has its whole timeout again.
   *
   * With `empty` it has lost its data instead, as a container without a volume does: no nodes, no sessions, and zxids begin
   * again, so that it ends the connection of a session that has seen more without an answer.
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
   * A network that lets no byte through, in either direction, and tells nobody. The server lives on behind it: sessions
   * expire. For one session alone: {@link EmbeddedSession.partition}.
   */
  partition(): void {
    this.#server.faults.partitioned = true;
  }

  /** Ends {@link partition}. Connections that lost bytes meanwhile are reset. */
  heal(): void {
    this.#server.faults.partitioned = false;
    this.#server.faultsChanged();
  }

  /** Ends every new connection at once, until {@link admit}. Those that are there stay. */
  refuse(): void {
    this.#server.faults.refusing = true;
  }

  /** Takes connections again after {@link refuse}. */
  admit(): void {
    this.#server.faults.refusing = false;
  }

  /**
   * Carries out the next such request, says nothing, and cuts the connection: the reply that is lost. Of `connect`, the
   * session is opened and its client never learns of it.
   *
   * @param target `times` is 1 unless it says otherwise
   */
  swallowReply(operation: LoggedOperation, target: Omit<FaultTarget, 'operation'> = {}): Fault {
    return this.#server.faults.add({ kind: 'swallow' }, checkTarget({ times: 1, ...target, operation }));
  }

  /**
   * Answers every request `ms` milliseconds late, or only one kind of them. What is sent later on the same connection,
   * events too, waits behind it: order is kept.
   */
  delay(
    ms: number,
    { only, ...target }: Omit<FaultTarget, 'operation'> & { only?: LoggedOperation } = {},
  ): Fault {
    const effect = { kind: 'delay', ms: checkMs('ms', ms) ?? 0 } as const;
    return this.#server.faults.add(
      effect,
      checkTarget(only === undefined ? target : { ...target, operation: only }),
    );
  }

  /**
   * Answers requests by an error and doesn't carry them out. A handshake knows no errors: then the connection is cut.
   *
   * @param error the name of ZooKeeper's error, or any code
   * @throws InvalidOptionError if there is no error of that name
   */
  failWith(error: ErrorName | number, target: FaultTarget = {}): Fault {
    return this.#server.faults.add({ kind: 'fail', code: checkError(error) }, checkTarget(target));
  }

  /** Ends everything that was done to it and still lasts. */
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
    const handle = this.#newHandle(session);
    this.#handles.set(session, handle);
    return handle;
  }

  #newHandle(session: SessionRecord): EmbeddedSession {
    const { faults } = this.#server;
    const keeper = () => this.#server.keeper; // Another one when its data were lost.
    const isAlive = () => keeper().sessions.get(session.id) === session;
    return new EmbeddedSession(session.id, {
      isAlive,
      isConnected: () => keeper().clientOf(session) !== undefined,
      timeoutMs: () => session.timeoutMs,
      ephemerals: () => [...keeper().tree.ephemeralsOf(session.id)],
      expire: () => {
        if (isAlive()) keeper().closeSession(session, this.#server.moment());
      },
      dropConnection: () => keeper().clientOf(session)?.disconnect(),
      partition: () => faults.partitionedSessions.add(session.id),
      heal: () => {
        faults.partitionedSessions.delete(session.id);
        this.#server.faultsChanged();
      },
    });
  }
}

mark(EmbeddedZooKeeper, 'EmbeddedZooKeeper');

const OPERATIONS: readonly string[] = [...OPERATION_NAMES, 'connect'];

function checkTarget(target: FaultTarget): FaultTarget {
  const { operation, path, times } = target;
  if (operation !== undefined && !OPERATIONS.includes(operation))
    throw new InvalidOptionError('operation', operation, `one of ${OPERATIONS.join(', ')}`);
  if (path !== undefined && typeof path !== 'string' && !(path instanceof RegExp))
    throw new InvalidOptionError('path', path, 'a path or a pattern');
  if (times !== undefined && (!Number.isInteger(times) || times < 1))
    throw new InvalidOptionError('times', times, 'a whole number over 0');
  return target;
}

function checkError(error: unknown): number {
  const code =
    typeof error === 'string' && Object.hasOwn(ERROR_CODES, error) ? ERROR_CODES[error as ErrorName] : error;
  if (typeof code === 'number' && Number.isInteger(code) && (code | 0) === code) return code;
  throw new InvalidOptionError(
    'error',
    error,
    `one of ${Object.keys(ERROR_CODES).join(', ')}, or a whole number`,
  );
}
