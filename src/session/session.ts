import { AsyncResource } from 'node:async_hooks';
import { describe, type ListenerError, SessionClosedError, SessionExpiredError } from '../errors.js';
import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort-controller.js';
import { deferred } from '../platform/async/promises.js';
import { isLastResort, type Logger, logError, resolveLogger } from '../platform/logging/logger.js';
import { mark } from '../public-class/instance-brand.js';
import { showAs } from '../public-class/shown-in-console.js';
import type { Connection } from './connection/connection.js';
import { type ConnectSource, connectSource } from './connection/server-list.js';
import { SessionThread } from './connection-thread/session-thread.js';
import { credentialsOf, isKnown, type SessionCredentials } from './id-and-password.js';
import { KeepAlive } from './keep-alive/keep-alive.js';
import { Operations } from './operations.js';
import { PathProtection, pathPolicyOf } from './path-protection.js';
import { ServerSearch, type SessionOwner } from './server-search.js';
import {
  type CloseOptions,
  type ResolvedSessionOptions,
  resolveCloseOptions,
  resolveSessionOptions,
  type SessionOptions,
} from './session-options.js';
import { hasEnded, SESSION_EVENTS, type SessionEvents, type SessionState } from './session-state.js';

/** The public state, and with it the connection, which callers don't see. */
type State =
  | Exclude<SessionState, { name: 'connected' }>
  | { readonly name: 'connected'; readonly connection: Connection };

const CONNECTED: SessionState = { name: 'connected' };
const WATCHES_PORTION_BYTES = 100_000;

/**
 * One ZooKeeper session: its connection, to any of the servers, and the lease on its nodes.
 *
 * Guaranteed by the lease: "until this instant, every client that waits for the end of my lease does not act". If the link, this
 * process or the connected server fails, the lease is over before the servers give a node away.
 *
 * Not guaranteed: the same when the *leading* server hangs for a session timeout and then goes on. So the
 * next leader waits until the lease is over, see `LeaderElector`.
 *
 * Without a connection, operations wait for one. An operation rejects with
 * - `ConnectionLossError` when the connection is lost before the reply: the servers may have carried the operation out;
 * - `OperationTimeoutError` when there is no reply within the session timeout: the servers may have carried the operation out;
 * - `SessionExpiredError` or `SessionClosedError` when the session has ended;
 * - a `ZooKeeperError` (`NoNodeError`, `BadVersionError`…) when the server refuses;
 * - `InvalidOptionError` when a path or the data can't be sent.
 *
 * @example
 * ```ts
 * const session = await Session.connect('zk1:2181,zk2:2181,zk3:2181/app');
 * session.on('expired', () => console.log('the session is over'));
 * await session.close();
 * ```
 */
export class Session extends Operations<SessionEvents> {
  /** @internal */
  readonly environment: ResolvedSessionOptions['environment'];
  /** @internal */
  readonly logger: Logger;
  /** @internal Confirms that this session's nodes still exist. */
  readonly keepAlive: KeepAlive;
  /** @internal Checks the paths of queues. */
  readonly guard: PathProtection;
  /** @internal As {@link Session.signal}, for code that doesn't need an AbortSignal of the platform. */
  readonly ended = new LazyAbortController();
  readonly #connect: ConnectSource;
  readonly #search: ServerSearch;
  /** The thread that holds the connections, if one does. */
  readonly #thread: SessionThread | undefined;
  #state: State = { name: 'connecting' };
  #connections = 0; // How many connections have served the session.
  #closing: Promise<void> | undefined; // All calls of `close()` share one.
  /**
   * The async context in which the session was opened. Without it, the end of a connection could run in the context of a caller's
   * unrelated work.
   */
  readonly #context = new AsyncResource('ConclaveSession', { requireManualDestroy: true });

  private constructor(
    connect: ConnectSource,
    options: ResolvedSessionOptions,
    owner: SessionOwner,
    credentials?: SessionCredentials,
  ) {
    super(connect.newest?.chroot ?? '', options, options.hasSasl);
    this.#connect = connect;
    this.environment = options.environment;
    this.logger = options.logger;
    if (owner.onError !== undefined) this.on('error', owner.onError);
    this.#thread = options.thread === undefined ? undefined : new SessionThread(options.thread);
    this.#search = new ServerSearch(this, connect, options, owner.outage, credentials, this.#thread);
    this.guard = new PathProtection(this, this.logger, pathPolicyOf(options));
    const onAnswered = (tookMs: number) => this.note('heartbeat', tookMs);
    const onStalls = options.thread && {
      maxStallMs: options.thread.maxStallMs,
      onRepeated: () => this.note('repeated'),
      onStall: (stalledMs: number) => this.note('stall', stalledMs),
    };
    this.keepAlive = new KeepAlive(this.clock, this.logger, onAnswered, onStalls);
  }

  /**
   * Opens a session.
   *
   * @param connect - `host[:port],host[:port]…[/chroot]`, with IPv6 addresses in brackets and 2181 as the default port. The
   *   chroot is created if it is missing. Or a function that gives it, which is asked before each round of servers: the list may change
   *   while the session lives, and the chroot may not
   * @throws InvalidOptionError if the connect string or an option is wrong, or what a function among them gives
   * @throws ConnectTimeoutError if no server accepts the session within `connectTimeoutMs`
   * @throws AuthenticationError if a server refuses the credentials
   * @throws ZooKeeperError if a server refuses to create the chroot
   * @throws the reason of `options.signal` if it aborts before the session is open
   */
  static async connect(
    connect: string | (() => string | Promise<string>),
    options?: SessionOptions,
  ): Promise<Session> {
    return await Session.#open(connectSource(connect), options);
  }

  /** @internal As {@link Session.connect}, for an owner that opens one session after the other. */
  static async open(
    connect: ConnectSource,
    options: SessionOptions | undefined,
    owner?: SessionOwner,
  ): Promise<Session> {
    return await Session.#open(connect, options, owner);
  }

  /**
   * @internal Takes over a session that another process has left behind. If that process still has a connection, the servers
   *   report to it that the session has moved.
   * @throws SessionExpiredError if the session has ended, and the errors of {@link Session.connect}
   */
  static async takeOver(
    connect: ConnectSource,
    credentials: SessionCredentials,
    options: SessionOptions,
    owner?: SessionOwner,
  ): Promise<Session> {
    return await Session.#open(connect, options, owner, credentials);
  }

  static async #open(
    connect: ConnectSource,
    given: SessionOptions | undefined,
    owner: SessionOwner = {},
    credentials?: SessionCredentials,
  ): Promise<Session> {
    const options = resolveSessionOptions(given, resolveLogger(given?.logger));
    options.signal?.throwIfAborted();
    const session = new Session(connect, options, owner, credentials);
    session.#search.start();
    try {
      await session.#search.openInTime(session.#ready());
    } catch (error) {
      void session.close(); // Never rejects, and needs no caller to wait for it.
      throw error;
    }
    return session;
  }

  async #ready(): Promise<void> {
    await this.whenConnected();
    await this.ensureChroot(this.#connect.value.chroot);
  }

  /** The state now; an event follows each change. */
  get state(): SessionState {
    return this.#state.name === 'connected' ? CONNECTED : this.#state;
  }

  /** @internal The secret of the session: any client that has it can take the session over. Never log it. */
  get credentials(): SessionCredentials {
    return credentialsOf(this.#search.identity);
  }

  /** @internal The number of the connection that serves the session, counted from 1; `undefined` while none does. */
  get connectionNumber(): number | undefined {
    return this.#state.name === 'connected' ? this.#connections : undefined;
  }

  /** @internal The newest servers of the connect string, and the newest TLS options for them. */
  get ensemble(): Pick<ServerSearch, 'servers' | 'tls' | 'renewTls'> {
    return this.#search;
  }

  /** @internal The server that serves the session; `undefined` while none does. */
  get server(): Connection['server'] | undefined {
    return this.#connection?.server;
  }

  /** @internal The newest transaction that a server has shown to this session; 0 before the first answer. */
  get newestZxid(): bigint {
    const seen = this.#search.identity.lastZxid;
    const newest = this.#connection?.lastZxid ?? 0n;
    return newest > seen ? newest : seen;
  }

  /** The session timeout that the servers agreed to, in milliseconds. */
  get sessionTimeoutMs(): number {
    return this.#search.identity.sessionTimeoutMs;
  }

  /** @internal Whether a thread repeats the heartbeats for what is held, while this thread stands still. */
  get isRepeated(): boolean {
    return this.#thread !== undefined;
  }

  /** How long a holder may act on one committed heartbeat, in milliseconds from when that was sent. */
  get leaseMs(): number {
    return this.#search.identity.leaseMs;
  }

  /** Aborts when the session ends: with `SessionExpiredError`, `SessionClosedError` or `AuthenticationError`. */
  get signal(): AbortSignal {
    return this.ended.signal;
  }

  /** @internal */
  get clock() {
    return this.environment.clock;
  }

  /** Whether `stat` is the stat of an ephemeral node of this session. */
  owns(stat: { readonly ephemeralOwner: bigint }): boolean {
    const { identity } = this.#search;
    return isKnown(identity) && stat.ephemeralOwner === identity.id;
  }

  /**
   * Resolves when the session is connected. @throws SessionExpiredError, SessionClosedError or AuthenticationError if the session
   * ends before, or the signal's reason
   */
  async whenConnected(signal?: Abortable): Promise<void> {
    signal?.throwIfAborted();
    this.ended.throwIfAborted();
    if (this.#state.name !== 'connected') await this.#search.whenServed(this.ended, signal);
  }

  /**
   * Ends the session. The servers delete its ephemeral nodes, and everything that waits for the session rejects. Resolves when a
   * server has acknowledged the end, or when `timeoutMs` is over: then the servers end the session by its timeout. You may call
   * it in any state and any number of times; the first call's options count.
   *
   * @throws InvalidOptionError if an option is wrong; nothing else
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const limitMs = resolveCloseOptions(options);
    if (this.#closing === undefined) {
      const closing = deferred();
      this.#closing = closing.promise; // This comes before the event `closed`, because a listener may call `close()`, too.
      closing.resolve(this.#close(limitMs));
    }
    await this.#closing;
  }

  /** Closes the session, for `await using`: the same as `close()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(limitMs: number): Promise<void> {
    const connection = this.#connection;
    this.#end('closed', new SessionClosedError('the session was closed'));
    const reason = this.ended.reason as Error;
    // If the search goes on, it asks the options that are functions.
    await this.#context.runInAsyncScope(() => this.#search.close(connection, limitMs, reason));
  }

  // ---- the changes of the state: the search calls serve, expire and fail ----

  /** @internal */
  serve(connection: Connection): void {
    const before = this.#state;
    const { repliedZxid, leaseMs, sessionTimeoutMs } = this.#search.identity;
    connection.restoreWatches(this.watchPortions(WATCHES_PORTION_BYTES), repliedZxid);
    this.#connections++;
    this.#become({ name: 'connected', connection });
    this.outbox.open(connection);
    this.keepAlive.start(connection, { leaseMs, sessionTimeoutMs });
    const { server } = connection;
    const { schemes } = this.#search;
    const shown = schemes.length === 0 ? { server } : { server, authenticated: schemes };
    if (before.name === 'suspended') {
      const suspendedMs = Math.round(this.clock.now() - before.sinceMs);
      this.logger.info({ ...shown, suspendedMs }, 'session resumed');
      this.emit('resumed');
    } else {
      this.logger.info({ ...shown, sessionTimeoutMs, leaseMs }, 'session opened');
    }
    // The connection may have reported its end before it served the session.
    if (connection.end !== undefined) this.connectionEnded(connection, connection.end);
  }

  /** @internal */
  connectionEnded(connection: Connection, reason: Error): void {
    // The search sees the end of a connection that doesn't serve the session, or that served it until it was closed.
    if (connection === this.#connection) this.#context.runInAsyncScope(() => this.#leave(connection, reason));
  }

  #leave(connection: Connection, reason: Error): void {
    this.#search.expireWith(connection);
    if (hasEnded(this.#state)) return;
    this.#become({ name: 'suspended', sinceMs: this.clock.now() });
    this.outbox.hold();
    this.keepAlive.stop();
    this.#search.resume(connection); // This comes before the event, because a listener that closes the session waits for the search.
    this.emit('suspended');
    this.logger.warn({ server: connection.server, cause: describe(reason) }, 'session suspended');
  }

  /** @internal */
  expire(why: string): void {
    this.logger.warn({ cause: why }, 'session expired');
    this.#end('expired', new SessionExpiredError(why));
  }

  /** @internal */
  fail(error: Error): void {
    const message = "the session can't continue";
    // On the session's first connection, the call that opens it or its first operation rejects with the error.
    if (this.#state.name === 'suspended' || this.#connections > 1) this.report(error, message);
    else if (!isLastResort(this.logger)) this.logger.error({ err: error }, message);
    this.#end('closed', error);
  }

  #end(name: 'expired' | 'closed', reason: Error): void {
    if (hasEnded(this.#state)) return;
    if (this.#connection !== undefined) this.#search.learnFrom(this.#connection);
    this.#become({ name });
    this.keepAlive.stop();
    this.clearWatches();
    this.outbox.end(reason);
    this.#thread?.end();
    this.ended.abort(reason);
    this.emit(name);
  }

  /** The only place that writes the state. */
  #become(next: State): void {
    if (!hasEnded(this.#state)) this.#state = next;
  }

  get #connection(): Connection | undefined {
    return this.#state.name === 'connected' ? this.#state.connection : undefined;
  }

  /** @internal Reports an error with which no call rejects. */
  report(error: Error, message: string): void {
    logError(this.logger, error, message, this);
    this.emit('error', error);
  }

  /** @internal */
  protected override get knownEvents() {
    return SESSION_EVENTS;
  }

  protected override reportListenerError(error: ListenerError): void {
    if (error.event === 'error') this.logger.error({ err: error }, 'a listener failed');
    else this.report(error, 'a listener failed');
  }
}

mark(Session, 'Session');
// Shows neither the id nor the password: any client that has them can take the session over.
showAs(Session, ({ state: { name: state }, sessionTimeoutMs, leaseMs }) => ({
  state,
  sessionTimeoutMs,
  leaseMs,
}));
