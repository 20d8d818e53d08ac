import {
  AuthenticationError,
  ConnectTimeoutError,
  describe,
  InvalidOptionError,
  SessionClosedError,
  SessionExpiredError,
} from '../errors.js';
import { type Abortable, LazyAbortController, onAbort } from '../platform/async/lazy-abort-controller.js';
import { abortable, type Deferred, deferred, ignore, settledWithin } from '../platform/async/promises.js';
import type { Server } from '../platform/injected-environment.js';
import { warnOfSetup } from '../platform/logging/logger.js';
import { afterPendingInput, type Clock } from '../platform/time/clock.js';
import { authenticate } from './authentication.js';
import type { Connection, ConnectionOwner } from './connection/connection.js';
import { NoAnswerInTimeError, SessionGoneError } from './connection/connection-end.js';
import { Outage, OwnFailure } from './connection/outage.js';
import type { ConnectSource } from './connection/server-list.js';
import { ServerRounds } from './connection/server-rounds.js';
import { type Endpoint, openTransport, type TlsOptions } from './connection/tcp-and-tls.js';
import type { SessionThread } from './connection-thread/session-thread.js';
import {
  credentialsOf,
  granted,
  isKnown,
  newIdentity,
  type SessionCredentials,
  type SessionIdentity,
  withoutCredentials,
  withZxidsOf,
} from './id-and-password.js';
import type { KeepAlive } from './keep-alive/keep-alive.js';
import { isClickHouseKeeper } from './protocol/clickhouse-keeper.js';
import { closeSessionRequest, type Handshake, type HandshakeReply } from './protocol/requests.js';
import type { ResolvedSessionOptions } from './session-options.js';
import { hasEnded, type SessionState } from './session-state.js';

/** The session for which a server is searched. The search calls it on the search's stack. */
export interface SearchingSession extends ConnectionOwner {
  readonly state: SessionState;
  readonly keepAlive: Pick<KeepAlive, 'leaseShortened'>;
  /** The connection's server serves the session from now on. */
  serve(connection: Connection): void;
  expire(why: string): void;
  /** No server accepts the session any more. */
  fail(error: Error): void;
  report(error: Error, message: string): void;
}

/** The owner of a session, which exists before the session and outlives it. */
export interface SessionOwner {
  /** Gets the session's errors from the beginning, before it is open. */
  readonly onError?: (error: Error) => void;
  /** The facts about the present time without a server, shared by the owner's sessions. */
  readonly outage?: Outage | undefined;
}

const LOST_DATA =
  'no server has the transactions that the session has seen: the data of the ensemble was lost, or restored from a backup';

const REFUSED = 'the servers have refused the session for a session timeout, and end it after another one';

const KEEPER_MESSAGE =
  'the server is ClickHouse Keeper: it resumes no session, so a term or a lock is lost with the connection. Conclave was not tested with a real one';

/**
 * The search for a server. It tries one connection after the other until a server serves the session or the session has ended. If
 * a session is closed without a connection, the search goes on for a server that can end the session.
 *
 * While a server serves the session, no function waits here: the connection reports its own end to the session. The session's
 * identity belongs to the search, which shows it to each server and adopts the times that the server grants.
 */
export class ServerSearch {
  readonly #connect: ConnectSource;
  readonly #session: SearchingSession;
  readonly #options: ResolvedSessionOptions;
  readonly #rounds: ServerRounds;
  readonly #outage: Outage;
  /** Ends the search. Without it, the search goes on after the session's end until a server has closed the session. */
  readonly #abandonment = new LazyAbortController<Error>();
  #identity: SessionIdentity;
  /** The time of the lost handshake that explains the newest move of the session to another server. */
  #explainedMoveBy = Number.NEGATIVE_INFINITY;
  #search: Promise<void> | undefined; // Set while no server serves the session and the search is under way.
  #served: Deferred<void> | undefined; // Created when a caller waits for a connection.
  /** Whether a caller has the session. Before, another session takes its place when it ends: nothing depends on it yet. */
  #isTheirs: boolean;
  /** Since when servers know the session, and don't serve it because they refuse it, or because a mechanism of SASL fails. */
  #refusedSinceMs: number | undefined;

  constructor(
    session: SearchingSession,
    connect: ConnectSource,
    options: ResolvedSessionOptions,
    outage = new Outage(),
    credentials?: SessionCredentials,
    thread?: SessionThread,
  ) {
    this.#connect = connect;
    this.#session = session;
    this.#options = options;
    this.#outage = outage;
    this.#identity = newIdentity(options, credentials);
    this.#isTheirs = credentials !== undefined;
    const onTried = () => this.#reportOutage(this.servers.length);
    const { environment, tls, credentials: shown, sasl, logger } = options;
    const open = (endpoint: Endpoint) =>
      thread?.open(endpoint, tls.value) ?? openTransport(endpoint, environment, tls.value);
    const sources = [tls, shown, sasl];
    this.#rounds = new ServerRounds({ connect, sources, environment, open, logger, outage, onTried });
  }

  get identity(): SessionIdentity {
    return this.#identity;
  }

  /** The servers as the connect string names them, or the newest one that `connect()` has given; none before the first one. */
  get servers(): readonly Server[] {
    return this.#connect.newest?.servers ?? [];
  }

  /** The newest TLS options for the connections; `undefined` for plain TCP. */
  get tls(): TlsOptions | undefined {
    return this.#options.tls.newest;
  }

  /** Asks for newer TLS options, if a function gives them. Never rejects. */
  async renewTls(): Promise<void> {
    await this.#options.tls.ask();
  }

  /** The schemes of the newest credentials. */
  get schemes(): readonly string[] {
    const { credentials, hasSasl } = this.#options;
    const schemes = (credentials.newest ?? []).map(({ scheme }) => scheme);
    return hasSasl ? [...schemes, 'sasl'] : schemes;
  }

  /** Begins the search. When a server serves the session, nothing of the search stays in memory. */
  start(): void {
    this.#search = this.#find();
  }

  resume(connection: Connection): void {
    this.learnFrom(connection);
    this.#outage.begin(this.#clock.now(), this.#identity.leaseMs);
    this.start();
  }

  /** Notes the zxids that a connection has seen which has ended or no longer serves the session. */
  learnFrom(connection: Connection): void {
    this.#identity = withZxidsOf(this.#identity, connection);
  }

  /** Resolves when a server serves the session. @throws the reason of the first of `signals` that aborts before */
  whenServed(...signals: readonly (Abortable | undefined)[]): Promise<void> {
    this.#served ??= deferred();
    return abortable(this.#served.promise, ...signals);
  }

  /** @throws ConnectTimeoutError when `opened` has taken `connectTimeoutMs`, the signal's reason, or the error of `opened` */
  async openInTime(opened: Promise<void>): Promise<void> {
    const { connectTimeoutMs, signal } = this.#options;
    const timeout = new LazyAbortController<ConnectTimeoutError>();
    const timer = Number.isFinite(connectTimeoutMs)
      ? afterPendingInput(this.#clock, connectTimeoutMs, () => {
          const cause = this.#rounds.lastFailure;
          const why = cause === undefined ? '' : ` (the last one tried: ${describe(cause)})`;
          const message = `no server accepted the session within ${connectTimeoutMs} ms${why}`;
          timeout.abort(new ConnectTimeoutError(message, { cause }));
        })
      : undefined;
    try {
      await abortable(opened, signal, timeout);
    } finally {
      timer?.clear();
    }
    this.#isTheirs = true;
    this.#warnOfGrant();
  }

  /** Has a server close the ended session within `limitMs`, over `connection` or over one that is found in this time. Never rejects. */
  async close(connection: Connection | undefined, limitMs: number, reason: Error): Promise<void> {
    const leaving = connection === undefined ? this.#search : this.#leave(connection);
    if (leaving === undefined) return; // The session had ended before.
    await settledWithin(this.#clock, leaving, limitMs);
    this.#abandonment.abort(reason);
    connection?.destroy(reason);
    await leaving;
  }

  /**
   * Whether a connection has ended because another process has taken the session. A session mustn't be taken back from another
   * process: that would only begin a fight.
   *
   * But this session's own handshake may have moved it as well, if that was sent to another server and given up before the
   * answer. Then the next handshake takes the session back. After a move a server refuses writes, but a follower answers reads.
   * So a session that only reads may learn of a move much later. Therefore each lost handshake explains one move, whenever that
   * shows. Within a session timeout it explains all moves, since handshakes that were lost earlier may still be on their way.
   */
  #wasTaken(reason: Error | undefined): boolean {
    if (!(reason instanceof SessionGoneError && reason.moved)) return false;
    const { handshakeLostAt } = this.#rounds;
    const isExplained =
      handshakeLostAt > this.#explainedMoveBy ||
      this.#clock.now() - handshakeLostAt <= this.#identity.sessionTimeoutMs;
    this.#explainedMoveBy = handshakeLostAt;
    return !isExplained;
  }

  /** Never rejects. */
  async #find(): Promise<void> {
    let connection: Connection | undefined;
    this.#rounds.beginSearch();
    try {
      while (this.#isNeeded) {
        const dialed = await this.#dial();
        const { reply, handshake } = dialed;
        connection = dialed.connection;
        const isOther = isKnown(this.#identity) && reply.id !== this.#identity.id;
        if (reply.timeoutMs <= 0 || isOther) {
          connection.destroy(new SessionExpiredError('the session has expired'));
          this.expire('the session has expired');
          continue;
        }
        this.#adopt(reply); // Before anything can fail: else nothing would end the session that the server has made.
        // Servers that demand credentials refuse all other requests before these, also the one that closes the session.
        const zxid = await this.#authenticate(connection);
        if (zxid === undefined) {
          this.expireWith(connection);
          continue;
        }
        const isWaived = !this.#hasEnded && handshake.lastZxid < this.#identity.lastZxid;
        // A server that was shown no zxid may lack transactions that the session has seen. The session can't rely on anything that it knows
        // then. Such a server doesn't serve it; it is asked to close it.
        if (isWaived && zxid < this.#identity.lastZxid) {
          await this.#sayGoodbye(connection);
          if (!isKnown(this.#identity)) this.expire(LOST_DATA);
        } else if (await this.#use(connection)) return;
      }
    } catch (error) {
      connection?.destroy(toError(error)); // This has no effect if it has ended.
      if (!this.#hasEnded) this.#session.fail(toError(error)); // Otherwise the search was given up.
    }
  }

  get #hasEnded(): boolean {
    return hasEnded(this.#session.state);
  }

  /** Whether the search has to go on: while the session lives, and after it was closed until a server has closed it, too. */
  get #isNeeded(): boolean {
    return !this.#hasEnded || (this.#session.state.name === 'closed' && isKnown(this.#identity));
  }

  get #clock(): Clock {
    return this.#options.environment.clock;
  }

  #dial() {
    const handshake = () => this.#handshake();
    return this.#rounds.dial(handshake, this.#session, () => this.#isNeeded, this.#abandonment);
  }

  #handshake(): Handshake {
    const { state } = this.#session;
    const { lastZxid, sessionTimeoutMs } = this.#identity;
    const unservedMs = state.name === 'suspended' ? this.#clock.now() - state.sinceMs : 0;
    // Any server can end a closed session, whatever transactions the server has missed.
    const isWaived = state.name === 'closed' || waivesZxid(unservedMs, sessionTimeoutMs);
    return {
      ...credentialsOf(this.#identity),
      timeoutMs: this.#options.sessionTimeoutMs,
      lastZxid: isWaived ? 0n : lastZxid,
    };
  }

  /**
   * Reports that no server serves, unless the session was closed: no caller waits for such a session, and its owner's next session reports.
   */
  #reportOutage(servers: number): void {
    if (this.#hasEnded) return;
    const error = this.#outage.report(this.#clock.now(), servers);
    if (error !== undefined) this.#session.report(error, 'no server serves the session');
  }

  /**
   * No server will serve the session any more. It has expired then, unless it was closed meanwhile. If no caller has it yet, the search goes
   * on for another session.
   */
  expire(why: string): void {
    if (this.#hasEnded) this.#identity = withoutCredentials(this.#identity);
    else if (!this.#isTheirs) this.#identity = newIdentity(this.#options);
    else {
      this.#outage.end(); // A server has answered.
      this.#session.expire(why);
    }
  }

  /**
   * Expires the session if it is over with the connection that had it. That includes a session that the servers have refused to serve for a
   * session timeout. Each handshake keeps such a session alive for as long again, so its nodes would block others for ever.
   */
  expireWith({ end, isKeeper }: Connection): void {
    const { sessionTimeoutMs } = this.#identity;
    const refusedMs = this.#clock.now() - (this.#refusedSinceMs ?? Number.POSITIVE_INFINITY);
    if (this.#wasTaken(end)) this.expire('another connection has taken the session');
    else if (isKeeper) this.expire(`${describe(end)}, and ClickHouse Keeper resumes no session`);
    else if (this.#isTheirs && refusedMs >= sessionTimeoutMs) this.expire(REFUSED);
  }

  /** `true` if the connection serves the session from now on. A session that has ended says goodbye instead. */
  async #use(connection: Connection): Promise<boolean> {
    if (this.#hasEnded) {
      await this.#sayGoodbye(connection);
      return false;
    }
    this.#search = undefined;
    this.#refusedSinceMs = undefined;
    this.#rounds.served();
    this.#outage.served();
    this.#served?.resolve();
    this.#served = undefined;
    this.#session.serve(connection);
    return true;
  }

  #adopt(reply: HandshakeReply): void {
    const { leaseMs } = this.#identity;
    this.#identity = granted(this.#identity, reply, this.#options);
    if (this.#identity.leaseMs < leaseMs) this.#session.keepAlive.leaseShortened();
  }

  #warnOfGrant(): void {
    const { logger, leaseMs, sessionTimeoutMs: askedMs } = this.#options;
    const { sessionTimeoutMs: grantedMs } = this.#identity;
    if (leaseMs !== undefined && leaseMs !== this.#identity.leaseMs) {
      const message = 'leaseMs does not fit the granted session timeout: using a third of the timeout';
      warnOfSetup(logger, { leaseMs, grantedMs }, message);
    }
    if (askedMs !== grantedMs)
      warnOfSetup(logger, { askedMs, grantedMs }, 'the servers granted a different session timeout');
    const { password } = credentialsOf(this.#identity);
    if (isClickHouseKeeper({ password, timeoutMs: grantedMs })) warnOfSetup(logger, {}, KEEPER_MESSAGE);
  }

  /** Shows the credentials. The newest transaction of a server that takes operations then; `undefined` if it takes none. */
  #authenticate(connection: Connection): Promise<bigint | undefined> {
    const { credentials, sasl } = this.#options;
    const shown = { credentials: credentials.value, sasl: sasl.value };
    return this.#ask(connection, () => authenticate(connection, shown));
  }

  async #leave(connection: Connection): Promise<void> {
    await this.#sayGoodbye(connection);
    await this.#find(); // If this server hasn't answered, another one is asked.
  }

  /**
   * Asks the server to close the session. If the server doesn't acknowledge that in time, the session's id is kept, and the next
   * server is asked.
   */
  async #sayGoodbye(connection: Connection): Promise<void> {
    const asking = this.#ask(connection, () => connection.send(closeSessionRequest()));
    const reply = await asking.catch(ignore); // A refusal is no acknowledgement either.
    // ClickHouse Keeper answers by closing the connection, and over another one no client can close this session.
    if (reply !== undefined || connection.isKeeper) this.#identity = withoutCredentials(this.#identity);
    connection.destroy(new SessionClosedError('the session was closed'));
  }

  /**
   * Sends a request over a connection that doesn't serve the session yet, or no longer serves it. If no answer comes within a
   * third of the session timeout, it ends the connection. `undefined` if the connection has ended, also by a refusal.
   * @throws InvalidOptionError if a mechanism of SASL is wrong, and no session of the owner was ever served
   */
  async #ask<T>(connection: Connection, ask: () => Promise<T>): Promise<T | undefined> {
    const timer = afterPendingInput(this.#clock, this.#identity.sessionTimeoutMs / 3, () =>
      connection.destroy(new NoAnswerInTimeError('no answer in time: the link is dead')),
    );
    const unsubscribe = onAbort(this.#abandonment, () =>
      connection.destroy(this.#abandonment.reason as Error),
    );
    try {
      return await ask();
    } catch (error) {
      this.#rounds.noteFailure(connection.server, error);
      if (error instanceof AuthenticationError || error instanceof OwnFailure)
        this.#refusedSinceMs ??= this.#clock.now();
      connection.destroy(toError(error)); // Mostly it has ended already, and that was the error.
      if (error instanceof InvalidOptionError && !this.#outage.hasServed) throw error;
      return undefined;
    } finally {
      timer.clear();
      unsubscribe();
    }
  }
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(describe(thrown));
}

/**
 * How long a session accepts only a server that has all transactions that the session has seen, in session timeouts. An ensemble
 * with a quorum ends a silent session within one timeout and a tick. So a longer wait would save no session, and would keep a
 * session that no server can serve any more.
 */
const INSISTS_FOR_TIMEOUTS = 1.25;

/**
 * Whether the next handshake shows no zxid. Usually a handshake shows the newest transaction that the session has seen. A server that
 * doesn't have this transaction closes the connection without an answer. A server without a quorum always does so. If an ensemble has lost
 * its data, or was restored from a backup, no server ever answers such a handshake. Without a zxid in the handshake, a server with a quorum
 * says whether it knows the session. A server without a quorum still doesn't answer, and its sessions live on.
 * @param unservedMs - how long no server has served the session, in milliseconds
 */
export function waivesZxid(unservedMs: number, sessionTimeoutMs: number): boolean {
  return unservedMs > INSISTS_FOR_TIMEOUTS * sessionTimeoutMs;
}
