import { AsyncResource } from 'node:async_hooks';
import { mark } from '../classes/copies.js';
import { showAs } from '../classes/inspection.js';
import {
  AuthenticationError,
  ConnectionLossError,
  ConnectTimeoutError,
  describe,
  type ListenerError,
  SessionClosedError,
  SessionExpiredError,
} from '../errors.js';
import { type Abortable, LazyAbortController, onAbort } from '../platform/async/lazy-abort.js';
import { abortable, type Deferred, deferred, ignore, settledWithin } from '../platform/async/promises.js';
import { checkMs, checkOptions } from '../platform/checks.js';
import type { Environment } from '../platform/environment.js';
import {
  isLastResort,
  type Logger,
  logError,
  resolveLogger,
  warnOfSetup,
} from '../platform/logging/logger.js';
import type { EventNames } from '../platform/safe-emitter.js';
import { afterPendingInput, type Clock } from '../platform/time/clock.js';
import { type ConnectTarget, parseConnectString } from './connection/connect-string.js';
import { type Connection, SessionGoneError } from './connection/connection.js';
import { Dialer } from './connection/dialer.js';
import { Heartbeat } from './connection/heartbeat.js';
import { Outage } from './connection/outage.js';
import { Outbox } from './connection/outbox.js';
import type { Outcome, Reply } from './connection/reply.js';
import { waivesZxid } from './connection/zxid-waiver.js';
import { Operations } from './operations.js';
import { PathGuard, pathPolicyOf } from './path-guard.js';
import type { Stat } from './protocol/records.js';
import * as requests from './protocol/requests.js';
import {
  type ResolvedSessionOptions,
  resolveSessionOptions,
  type SessionOptions,
} from './session-options.js';

/**
 * Where a session stands.
 *
 * - `connecting`: no server has taken it yet.
 * - `connected`: a server serves it.
 * - `suspended`: the connection is gone, the session may live on; `sinceMs` is the session clock's time of the loss.
 * - `expired`: the servers ended it. Final.
 * - `closed`: this process closed it, or no server would have it. Final.
 *
 * connecting → connected ⇄ suspended; connecting or connected or suspended → closed; suspended → expired.
 */
export type SessionState =
  | { readonly name: 'connecting' }
  | { readonly name: 'connected' }
  | { readonly name: 'suspended'; readonly sinceMs: number }
  | { readonly name: 'expired' }
  | { readonly name: 'closed' };

/** The events of a {@link Session}, each at most once for each change. They inform; `signal` protects. */
export interface SessionEvents {
  /** The connection is gone. What is held stays held while its lease lasts. */
  suspended(): void;
  /** A server serves the same session again. */
  resumed(): void;
  /** The servers ended the session: its ephemeral nodes are gone. */
  expired(): void;
  /** The session was closed by this process. */
  closed(): void;
  /**
   * A listener failed, a node can't be deleted, or no server serves the session: a `NoServerError` after the first whole
   * round of servers and the end of the lease, and then, as long as that lasts, after pauses that double from a second to
   * a minute.
   */
  error(error: Error): void;
}

/** @internal */
export const SESSION_EVENTS: EventNames<SessionEvents> = {
  suspended: true,
  resumed: true,
  expired: true,
  closed: true,
  error: true,
};
/** @internal What is there before a session, and outlives it. */
export interface Surroundings {
  /** Hears its errors from the beginning, before it is open. */
  readonly onError?: (error: Error) => void;
  /** What is known of the time without a server. */
  readonly outage?: Outage;
}

/** @internal What shows the servers that a session is somebody's own. */
export type SessionCredentials = Pick<requests.Handshake, 'id' | 'password'>;

/** What a session shows to a server. The password is kept a byte a character: a Buffer takes six times as much. */
interface Identity {
  readonly id: bigint;
  readonly password: string;
  /** As {@link Connection.lastZxid} has it, over all connections. */
  readonly lastZxid: bigint;
  /** As {@link Connection.repliedZxid} has it, of the last one. */
  readonly repliedZxid: bigint;
}

const PASSWORD_ENCODING = 'latin1';
const LOST_DATA =
  'no server has what the session has seen: the data of the ensemble was lost, or restored from a backup';
const NOTHING_SEEN = { lastZxid: 0n, repliedZxid: 0n };
const NO_IDENTITY: Identity = { ...identityOf(requests.NEW_SESSION), ...NOTHING_SEEN };

/** How a session is closed. */
export interface CloseOptions {
  /** How long to wait for a server's acknowledgement, in milliseconds. @default 1500 */
  readonly timeoutMs?: number;
}

// `close()` settles within 2 s; the difference is for what comes after the wait.
const CLOSE_WITHIN_MS = 1500;
const WATCHES_PORTION_BYTES = 100_000;
/** Of a request whose answer is of no interest. */
const NOBODY: Outcome<void> = { resolve: ignore, reject: ignore };

/**
 * One ZooKeeper session: its connection, whichever server that goes to, and the lease on its nodes.
 *
 * The lease is the point: "until this instant, whoever waits out my lease does not act". It is over
 * before the servers give a node away when the link, this process or the server at hand fails. It may not be when the
 * leading server stands still for a session timeout and goes on: so who comes next waits, see `LeaderElector`.
 *
 * @example
 * ```ts
 * const session = await Session.connect('zk1:2181,zk2:2181,zk3:2181/app');
 * session.on('expired', () => console.log('the session is over'));
 * await session.close();
 * ```
 */
export class Session extends Operations<SessionEvents> {
  readonly #options: ResolvedSessionOptions;
  readonly #environment: Environment;
  readonly #logger: Logger;
  readonly #dialer: Dialer;
  readonly #outbox: Outbox;
  readonly #heartbeat: Heartbeat;
  readonly #guard: PathGuard;
  readonly #outage: Outage;
  readonly #over = new LazyAbortController();
  /** Ends the search for a server, which outlives the session's end when there is something left to close. */
  readonly #network = new LazyAbortController<Error>();
  #state: SessionState = { name: 'connecting' };
  /** For those who wait for a connection, if anybody does. */
  #connected: Deferred<void> | undefined;
  #connection: Connection | undefined;
  #identity: Identity = NO_IDENTITY;
  #sessionTimeoutMs: number;
  #leaseMs: number;
  /**
   * The one in which it was opened. Whoever finds out that a connection has ended may be in the midst of somebody's work, which the
   * next one has nothing to do with.
   */
  readonly #context = new AsyncResource('ConclaveSession', { requireManualDestroy: true });
  /** While no server serves the session, and one is looked for. */
  #searching: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  private constructor(
    target: ConnectTarget,
    options: ResolvedSessionOptions,
    { onError, outage = new Outage() }: Surroundings = {},
    credentials?: SessionCredentials,
  ) {
    super(target.chroot, options.access);
    this.#options = options;
    this.#environment = options.environment;
    this.#logger = options.logger;
    this.#sessionTimeoutMs = options.sessionTimeoutMs;
    this.#leaseMs = options.leaseMs ?? options.sessionTimeoutMs / 3;
    if (credentials !== undefined) this.#identity = { ...identityOf(credentials), ...NOTHING_SEEN };
    this.#outage = outage;
    if (onError !== undefined) this.on('error', onError);
    const { servers } = target;
    const onTried = () => this.#reportOutage(servers.length);
    this.#dialer = new Dialer({ ...options, servers, outage, onTried });
    this.#guard = new PathGuard(this, options.logger, pathPolicyOf(options));
    this.#outbox = new Outbox(this.#environment.clock);
    this.#heartbeat = new Heartbeat(this.#environment.clock);
  }

  /**
   * Opens a session.
   *
   * @param connect - `host[:port],host[:port]…[/chroot]`, IPv6 addresses in brackets; the chroot is created if missing
   * @throws InvalidOptionError if the connect string or an option is wrong
   * @throws ConnectTimeoutError if no server takes the session within `connectTimeoutMs`
   * @throws AuthenticationError if the server refuses the credentials
   * @throws the reason of `options.signal` if it aborts before the session is open
   */
  static connect(connect: string, options?: SessionOptions): Promise<Session> {
    return Session.open(connect, options);
  }

  /** @internal {@link Session.connect}, for who opens one session after the other. */
  static async open(
    connect: string,
    options: SessionOptions | undefined,
    surroundings?: Surroundings,
  ): Promise<Session> {
    const target = parseConnectString(connect);
    const resolved = resolveSessionOptions(options, resolveLogger(options?.logger));
    resolved.signal?.throwIfAborted();
    const session = new Session(target, resolved, surroundings);
    await session.#open();
    return session;
  }

  /**
   * @internal Takes over a session that another process has left behind: from then on it is this one's, and a connection
   * that the other one may still have is told that it was moved.
   *
   * @throws SessionExpiredError if it is over, and what {@link Session.connect} throws
   */
  static async takeOver(
    target: ConnectTarget,
    credentials: SessionCredentials,
    options: SessionOptions,
    surroundings?: Surroundings,
  ): Promise<Session> {
    const resolved = resolveSessionOptions(options, resolveLogger(options.logger));
    resolved.signal?.throwIfAborted();
    const session = new Session(target, resolved, surroundings, credentials);
    await session.#open();
    return session;
  }

  get state(): SessionState {
    return this.#state;
  }

  /** @internal With these, anybody may take the session over. They are a secret: never log them. */
  get credentials(): SessionCredentials {
    return credentialsOf(this.#identity);
  }

  /** @internal The newest transaction that a server has told this session of; 0 before the first answer. */
  get newestZxid(): bigint {
    return max(this.#identity.lastZxid, this.#connection?.lastZxid ?? 0n);
  }

  /** The session timeout that the servers agreed to, in milliseconds. */
  get sessionTimeoutMs(): number {
    return this.#sessionTimeoutMs;
  }

  /** How long one committed heartbeat lets a holder act, in milliseconds, from when it was sent. */
  get leaseMs(): number {
    return this.#leaseMs;
  }

  /** Aborts when the session is over, with `SessionExpiredError`, `SessionClosedError` or `AuthenticationError`. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /**
   * Ends the session: its ephemeral nodes go, everything that waits on it rejects. Resolves when a server has
   * acknowledged, or when the time for that is over: then the session ends at the servers by its timeout. In any
   * state, any number of times; the first call's options count.
   *
   * @throws InvalidOptionError if an option is wrong; nothing else
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const { timeoutMs } = checkOptions<CloseOptions>('close', options, ['timeoutMs']);
    const limitMs = checkMs('timeoutMs', timeoutMs) ?? CLOSE_WITHIN_MS;
    if (this.#closing === undefined) {
      const closing = deferred();
      this.#closing = closing.promise; // Before anybody is told, and perhaps closes it too.
      closing.resolve(this.#close(limitMs));
    }
    await this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Resolves when the session is connected. @throws what ended the session, or the signal's reason */
  async whenConnected(signal?: Abortable): Promise<void> {
    signal?.throwIfAborted();
    this.#over.throwIfAborted();
    if (this.#state.name === 'connected') return;
    this.#connected ??= deferred();
    await abortable(this.#connected.promise, this.#over, signal);
  }

  /** @internal {@link Session.signal}, for those who needn't have a signal of the platform's. */
  get ended(): LazyAbortController {
    return this.#over;
  }

  /** Whether `stat` is of an ephemeral node of this very session. */
  owns(stat: Stat): boolean {
    return this.#identity.id !== 0n && stat.ephemeralOwner === this.#identity.id;
  }

  /** @internal What proves this session's nodes to be there. */
  get heartbeat(): Heartbeat {
    return this.#heartbeat;
  }

  /** @internal What looks after the paths of queues. */
  get guard(): PathGuard {
    return this.#guard;
  }

  /** @internal The clock that everything of this session goes by. */
  get clock(): Clock {
    return this.#environment.clock;
  }

  /** @internal The session's source of chance and of names. */
  get environment(): Environment {
    return this.#environment;
  }

  /** @internal The session's logger, for what is built on it. */
  get logger(): Logger {
    return this.#logger;
  }

  /** @internal */
  protected override perform<T>(request: requests.Request<T>): Promise<Reply<T>> {
    return this.#outbox.submit(request, this.#sessionTimeoutMs);
  }

  /** @internal Only over the connection that the watch was set on: it goes with that, and the next one isn't asked to set it. */
  protected override unwatch(target: string): boolean {
    this.#connection?.dispatch(requests.removeWatchRequest(target), NOBODY); // It may have sprung by now.
    return this.#connection !== undefined;
  }

  // ---- the session's life ----

  async #open(): Promise<void> {
    const { connectTimeoutMs, signal } = this.#options;
    this.#searching = this.#findServer();
    const giveUp = new LazyAbortController();
    const timer = Number.isFinite(connectTimeoutMs)
      ? afterPendingInput(this.clock, connectTimeoutMs, () => {
          const cause = this.#dialer.lastFailure;
          const why = cause === undefined ? '' : ` (the last one tried: ${describe(cause)})`;
          const message = `no server took the session within ${connectTimeoutMs} ms${why}`;
          giveUp.abort(new ConnectTimeoutError(message, { cause }));
        })
      : undefined;
    try {
      await abortable(this.#ready(), signal, giveUp);
    } catch (error) {
      void this.close(); // Never rejects, and ends by itself: the caller has its answer now.
      throw error;
    } finally {
      timer?.clear();
    }
  }

  async #ready(): Promise<void> {
    await this.whenConnected();
    await this.ensureChroot();
  }

  /**
   * Tries one connection after another, until one serves the session or it is over. Never rejects. Nothing of it is left
   * while the session is served: the connection tells when it has ended.
   */
  async #findServer(): Promise<void> {
    let connection: Connection | undefined;
    try {
      while (this.#needsServer()) {
        const dialled = await this.#dial();
        const { reply, handshake } = dialled;
        connection = dialled.connection;
        if (reply.timeoutMs <= 0 || (this.#identity.id !== 0n && reply.id !== this.#identity.id)) {
          connection.destroy(new SessionExpiredError('the session has expired'));
          return this.#expire('the session has expired');
        }
        const isWaived = !hasEnded(this.#state) && handshake.lastZxid < this.#identity.lastZxid;
        if (isWaived && !(await this.#hasAllSeen(connection))) {
          await this.#sayGoodbye(connection);
          if (this.#identity.id === NO_IDENTITY.id) return this.#expire(LOST_DATA);
        } else if (await this.#use(connection, reply)) return;
      }
    } catch (error) {
      connection?.destroy(toError(error)); // If it is over, that changes nothing.
      if (hasEnded(this.#state)) return; // The search for a server was given up.
      this.#reportEnd(toError(error));
      this.#end({ name: 'closed' }, toError(error));
    }
  }

  /** While the session lives, and after it was closed as long as the servers haven't been told. */
  #needsServer(): boolean {
    return !hasEnded(this.#state) || (this.#state.name === 'closed' && this.#identity.id !== NO_IDENTITY.id);
  }

  /** While a session that was closed looks for a server, nobody waits for that any more: the next session has the word. */
  #reportOutage(servers: number): void {
    if (hasEnded(this.#state)) return;
    const error = this.#outage.report(this.clock.now(), servers);
    if (error !== undefined) this.report(error, 'no server serves the session');
  }

  #dial() {
    const greet = () => this.#greeting();
    return this.#dialer.dial(greet, this, () => this.#needsServer(), this.#network);
  }

  #greeting(): requests.Handshake {
    const timeoutMs = this.#options.sessionTimeoutMs;
    const unservedMs = this.#state.name === 'suspended' ? this.clock.now() - this.#state.sinceMs : 0;
    // Any server can end a session that was closed, whatever that server has missed.
    const waives = this.#state.name === 'closed' || waivesZxid(unservedMs, this.#sessionTimeoutMs);
    return { ...credentialsOf(this.#identity), timeoutMs, lastZxid: waives ? 0n : this.#identity.lastZxid };
  }

  /** What has to be done over a new connection; `true` if it serves the session then. */
  async #use(connection: Connection, reply: requests.HandshakeReply): Promise<boolean> {
    this.#adopt(reply);
    if (!hasEnded(this.#state) && !(await this.#authenticate(connection))) return false;
    if (hasEnded(this.#state)) {
      await this.#sayGoodbye(connection);
      return false;
    }
    connection.restoreWatches(this.watches.portions(WATCHES_PORTION_BYTES), this.#identity.repliedZxid);
    this.#become({ name: 'connected' }, connection);
    // That may have been told before it served anybody.
    if (connection.end !== undefined) this.connectionEnded(connection, connection.end);
    return true;
  }

  /** @internal A server tells of a node that was watched. */
  notified({ path, change }: requests.WatchEvent): void {
    this.watches.fire(path, change);
  }

  /** @internal A connection has ended. */
  connectionEnded(connection: Connection, reason: Error): void {
    // One that never served the session, or did until that was closed: whoever has it sees its end, and goes on.
    if (connection === this.#connection)
      this.#context.runInAsyncScope(() => this.#goOnAfter(connection, reason));
  }

  #goOnAfter(connection: Connection, reason: Error): void {
    if (this.#wasTaken(reason)) return this.#expire('another connection has taken the session');
    const { lastZxid, repliedZxid } = connection;
    this.#identity = { ...this.#identity, lastZxid: max(this.#identity.lastZxid, lastZxid), repliedZxid };
    this.#outage.begin(this.clock.now(), this.#leaseMs);
    // Before anybody is told: who closes the session when hearing of it waits for the end of the search.
    this.#searching = this.#findServer();
    this.#become({ name: 'suspended', sinceMs: this.clock.now() });
    this.#logger.warn({ server: connection.server, cause: describe(reason) }, 'session suspended');
  }

  /**
   * Whether a server that was shown no zxid has all that the session has seen. Otherwise nothing that the session knows can be
   * relied on there: that server doesn't serve it, but is told to close it. `false` too if the connection has ended.
   */
  async #hasAllSeen(connection: Connection): Promise<boolean> {
    const seen = this.#identity.lastZxid;
    const hasAllSeen = async () => (await connection.ping()).zxid >= seen;
    return (await this.#soon(connection, hasAllSeen)) ?? false;
  }

  /** Shows the credentials; `false` if the connection ended over it. @throws AuthenticationError if they are refused */
  async #authenticate(connection: Connection): Promise<boolean> {
    const authenticate = async () => {
      for (const credentials of this.#options.credentials) await connection.authenticate(credentials);
      return true;
    };
    return (await this.#soon(connection, authenticate)) ?? false;
  }

  /**
   * What a connection is asked before it serves the session, or when it doesn't any more; `undefined` if it ended over it, as it does
   * when there is no answer within a third of the session timeout. @throws AuthenticationError if the credentials are refused
   */
  async #soon<T>(connection: Connection, ask: () => Promise<T>): Promise<T | undefined> {
    const silent = new ConnectionLossError('no answer in time: the link is dead');
    const tooLate = afterPendingInput(this.clock, this.#sessionTimeoutMs / 3, () =>
      connection.destroy(silent),
    );
    const giveUp = onAbort(this.#network, () => connection.destroy(this.#network.reason as Error));
    try {
      return await ask();
    } catch (error) {
      this.#outage.failed(connection.server, error);
      connection.destroy(toError(error)); // Mostly it has ended, which was the error.
      if (error instanceof AuthenticationError) throw error;
      return undefined;
    } finally {
      tooLate.clear();
      giveUp();
    }
  }

  #adopt({ timeoutMs, ...credentials }: requests.HandshakeReply): void {
    const first = this.#identity.id === 0n;
    this.#identity = { ...this.#identity, ...identityOf(credentials) };
    this.#sessionTimeoutMs = timeoutMs;
    const { leaseMs } = this.#options;
    const fitting = leaseMs !== undefined && leaseMs < timeoutMs ? leaseMs : timeoutMs / 3;
    // A lease never grows: those who wait for this one to end go by the length that was written down.
    this.#leaseMs = first ? fitting : Math.min(this.#leaseMs, fitting);
    if (first && leaseMs !== undefined && fitting !== leaseMs) {
      warnOfSetup(
        this.#logger,
        { leaseMs, grantedMs: timeoutMs },
        'leaseMs does not fit the granted session timeout: using a third of that',
      );
    }
    if (first && timeoutMs !== this.#options.sessionTimeoutMs) {
      const asked = this.#options.sessionTimeoutMs;
      warnOfSetup(
        this.#logger,
        { askedMs: asked, grantedMs: timeoutMs },
        'the servers granted another session timeout',
      );
    }
  }

  /** The only place that writes the state. */
  #become(next: SessionState, connection?: Connection): void {
    const previous = this.#state;
    if (hasEnded(previous)) return;
    this.#state = next;
    this.#connection = connection;
    switch (next.name) {
      case 'connected':
        this.#searching = undefined;
        this.#outage.end();
        this.#outbox.open(connection as Connection);
        this.#heartbeat.start(connection as Connection, {
          leaseMs: this.#leaseMs,
          sessionTimeoutMs: this.#sessionTimeoutMs,
        });
        this.#connected?.resolve();
        this.#connected = undefined;
        if (previous.name === 'suspended') this.emit('resumed');
        return;
      case 'suspended':
        this.#outbox.hold();
        this.#heartbeat.stop();
        this.emit('suspended');
        return;
      case 'expired':
      case 'closed':
        this.#heartbeat.stop();
        this.watches.clear();
        return;
      case 'connecting':
        return; // The first state, never entered.
    }
  }

  #expire(why: string): void {
    if (hasEnded(this.#state)) return; // Closed meanwhile: that is what there is to say, and its owner may be without a server.
    this.#outage.end(); // A server has said so.
    this.#logger.warn({ cause: why }, 'session expired');
    this.#end({ name: 'expired' }, new SessionExpiredError(why));
  }

  /**
   * Whether the connection ended because another one has taken the session. A handshake of our own, sent to another
   * server and given up before the answer, may have done that: then the next handshake takes it back. Otherwise it is
   * somebody else's now, and taking it back would only begin a fight.
   */
  #wasTaken(reason: Error): boolean {
    if (!(reason instanceof SessionGoneError && reason.moved)) return false;
    return this.clock.now() - this.#dialer.handshakeLostAt > this.#sessionTimeoutMs;
  }

  #end(state: { name: 'expired' } | { name: 'closed' }, reason: Error): void {
    if (hasEnded(this.#state)) return;
    this.#identity = { ...this.#identity, lastZxid: this.newestZxid }; // What its connection has seen too.
    this.#become(state);
    this.#outbox.end(reason);
    this.#connected?.reject(reason);
    this.#over.abort(reason);
    this.emit(state.name);
  }

  async #close(limitMs: number): Promise<void> {
    const connection = this.#connection;
    this.#end({ name: 'closed' }, new SessionClosedError('the session was closed'));
    // Over the connection at hand, if there is one; else the search for a server goes on for a while.
    const leaving = connection === undefined ? this.#searching : this.#leave(connection);
    if (leaving === undefined) return; // It had ended before.
    await settledWithin(this.clock, leaving, limitMs);
    this.#network.abort(this.#over.reason as Error);
    connection?.destroy(this.#over.reason as Error);
    await leaving;
  }

  /** Has a server end the session: the one at hand, or, if that doesn't answer, another one. Never rejects. */
  async #leave(connection: Connection): Promise<void> {
    await this.#sayGoodbye(connection);
    await this.#findServer();
  }

  /** Closes the session at its server; if that isn't acknowledged in time, the next one is told, if one is found. */
  async #sayGoodbye(connection: Connection): Promise<void> {
    const reply = await this.#soon(connection, () => connection.send(requests.closeSessionRequest()));
    // The servers know it no more. What it has seen is still what its owner's next session is compared with.
    if (reply !== undefined) this.#identity = { ...NO_IDENTITY, lastZxid: this.#identity.lastZxid };
    connection.destroy(new SessionClosedError('the session was closed'));
  }

  /** No server would have the session any more. Who waits for it to be opened is told by that. */
  #reportEnd(error: Error): void {
    const message = 'the session can not go on';
    if (this.#state.name === 'suspended') this.report(error, message);
    else if (!isLastResort(this.#logger)) this.#logger.error({ cause: describe(error) }, message);
  }

  /** @internal Something went wrong that nobody waits for. */
  report(error: Error, message: string): void {
    logError(this.#logger, error, message, this);
    this.emit('error', error);
  }

  /** @internal */
  protected override get knownEvents(): EventNames<SessionEvents> {
    return SESSION_EVENTS;
  }

  protected override reportListenerError(error: ListenerError): void {
    if (error.event === 'error') this.#logger.error({ cause: describe(error) }, 'a listener failed');
    else this.report(error, 'a listener failed');
  }
}

mark(Session, 'Session');
// Neither its id nor what goes with that: whoever has them can take the session over.
showAs(Session, ({ state: { name: state }, sessionTimeoutMs, leaseMs }) => ({
  state,
  sessionTimeoutMs,
  leaseMs,
}));

/** Whether the session has ended, one way or the other. */
export function hasEnded(state: SessionState): boolean {
  return state.name === 'expired' || state.name === 'closed';
}

function identityOf({ id, password }: SessionCredentials): Pick<Identity, 'id' | 'password'> {
  return { id, password: password.toString(PASSWORD_ENCODING) };
}

function credentialsOf({ id, password }: Identity): SessionCredentials {
  return { id, password: Buffer.from(password, PASSWORD_ENCODING) };
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(describe(thrown));
}
