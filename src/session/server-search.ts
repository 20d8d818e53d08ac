import {
  AuthenticationError,
  ConnectionLossError,
  ConnectTimeoutError,
  describe,
  SessionClosedError,
  SessionExpiredError,
} from '../errors.js';
import { type Abortable, LazyAbortController, onAbort } from '../platform/async/lazy-abort.js';
import { abortable, type Deferred, deferred, settledWithin } from '../platform/async/promises.js';
import type { Server } from '../platform/environment.js';
import { warnOfSetup } from '../platform/logging/logger.js';
import { afterPendingInput, type Clock } from '../platform/time/clock.js';
import { type Connection, type ConnectionOwner, SessionGoneError } from './connection/connection.js';
import { Dialer } from './connection/dialer.js';
import { waivesZxid } from './connection/handshake-without-zxid.js';
import { Outage } from './connection/outage.js';
import {
  credentialsOf,
  granted,
  type Identity,
  isKnown,
  newIdentity,
  type SessionCredentials,
  withoutCredentials,
  withZxidsOf,
} from './identity.js';
import { closeSessionRequest, type Handshake, type HandshakeReply } from './protocol/requests.js';
import type { ResolvedSessionOptions } from './session-options.js';
import { hasEnded, type SessionState } from './session-state.js';

/** The session that a search is for. The search calls it on the search's stack. */
export interface SearchingSession extends ConnectionOwner {
  readonly state: SessionState;
  /** The connection's server serves the session from now on. */
  serve(connection: Connection): void;
  expire(why: string): void;
  /** No server would accept the session any more. */
  fail(error: Error): void;
  report(error: Error, message: string): void;
}

/** What is there before a session, and outlives it. */
export interface SessionOwner {
  /** Gets the session's errors from the beginning, before it is open. */
  readonly onError?: (error: Error) => void;
  /** What is known of the time without a server. */
  readonly outage?: Outage | undefined;
}

const LOST_DATA =
  'no server has what the session has seen: the data of the ensemble was lost, or restored from a backup';

/**
 * The search for a server: one connection after the other, until a server serves the session or the session has ended. After a
 * session was closed without a connection, the search goes on for a server that can end the session. No function waits here
 * while a server serves the session: the connection reports its own end to the session. The session's identity belongs to the
 * search, which shows it to each server and takes over what the server grants.
 */
export class ServerSearch {
  /** As the connect string names them. */
  readonly servers: readonly Server[];
  readonly #session: SearchingSession;
  readonly #options: ResolvedSessionOptions;
  readonly #dialer: Dialer;
  readonly #outage: Outage;
  /** Ends the search. Until then it outlives the session's end, when a server has still to close the session. */
  readonly #abandonment = new LazyAbortController<Error>();
  #identity: Identity;
  /** When the handshake was lost that explains the newest move of the session to another server. */
  #explainedMoveBy = Number.NEGATIVE_INFINITY;
  #search: Promise<void> | undefined; // While no server serves the session, and one is looked for.
  #served: Deferred<void> | undefined; // Made when a caller waits for a connection.

  constructor(
    session: SearchingSession,
    servers: readonly Server[],
    options: ResolvedSessionOptions,
    outage = new Outage(),
    credentials?: SessionCredentials,
  ) {
    this.servers = servers;
    this.#session = session;
    this.#options = options;
    this.#outage = outage;
    this.#identity = newIdentity(options, credentials);
    const onTried = () => this.#reportOutage(servers.length);
    const { environment, tls, logger } = options;
    this.#dialer = new Dialer({ servers, environment, tls, logger, outage, onTried });
  }

  get identity(): Identity {
    return this.#identity;
  }

  /** How servers are spoken to: `undefined` for plain TCP. */
  get tls(): ResolvedSessionOptions['tls'] {
    return this.#options.tls;
  }

  /** Begins to search. Nothing of the search is left when a server serves the session. */
  start(): void {
    this.#search = this.#find();
  }

  resume(connection: Connection): void {
    this.learnFrom(connection);
    this.#outage.begin(this.#clock.now(), this.#identity.leaseMs);
    this.start();
  }

  /** Notes what the session's connection has seen, which has ended or isn't the session's any more. */
  learnFrom(connection: Connection): void {
    this.#identity = withZxidsOf(this.#identity, connection);
  }

  /** Resolves when a server serves the session. @throws the reason of the first of `signals` that aborts before */
  whenServed(...signals: readonly (Abortable | undefined)[]): Promise<void> {
    this.#served ??= deferred();
    return abortable(this.#served.promise, ...signals);
  }

  /** @throws ConnectTimeoutError when `opened` has taken `connectTimeoutMs`, the signal's reason, or what `opened` does */
  async openInTime(opened: Promise<void>): Promise<void> {
    const { connectTimeoutMs, signal } = this.#options;
    const timeout = new LazyAbortController<ConnectTimeoutError>();
    const timer = Number.isFinite(connectTimeoutMs)
      ? afterPendingInput(this.#clock, connectTimeoutMs, () => {
          const cause = this.#dialer.lastFailure;
          const why = cause === undefined ? '' : ` (the last one tried: ${describe(cause)})`;
          const message = `no server took the session within ${connectTimeoutMs} ms${why}`;
          timeout.abort(new ConnectTimeoutError(message, { cause }));
        })
      : undefined;
    try {
      await abortable(opened, signal, timeout);
    } finally {
      timer?.clear();
    }
  }

  /** Has a server close the ended session, over `connection` or one that is still found, within `limitMs`. Never rejects. */
  async close(connection: Connection | undefined, limitMs: number, reason: Error): Promise<void> {
    const leaving = connection === undefined ? this.#search : this.#leave(connection);
    if (leaving === undefined) return; // The session had ended before.
    await settledWithin(this.#clock, leaving, limitMs);
    this.#abandonment.abort(reason);
    connection?.destroy(reason);
    await leaving;
  }

  /**
   * Whether a connection has ended because another process has taken the session. A handshake of our own, sent to another server
   * and given up before the answer, may have moved the session as well: then the next handshake takes it back. A server refuses
   * writes for that, and a follower answers reads, so a session that only reads may learn of it much later: each lost handshake
   * explains one move, whenever that shows, and within a session timeout all of them, since other handshakes lost before it may
   * still be on their way. Taking the session back from another process would only begin a fight.
   */
  wasTaken(reason: Error): boolean {
    if (!(reason instanceof SessionGoneError && reason.moved)) return false;
    const { handshakeLostAt } = this.#dialer;
    const isExplained =
      handshakeLostAt > this.#explainedMoveBy ||
      this.#clock.now() - handshakeLostAt <= this.#identity.sessionTimeoutMs;
    this.#explainedMoveBy = handshakeLostAt;
    return !isExplained;
  }

  /** Never rejects. */
  async #find(): Promise<void> {
    let connection: Connection | undefined;
    try {
      while (this.#isNeeded) {
        const dialed = await this.#dial();
        const { reply, handshake } = dialed;
        connection = dialed.connection;
        if (reply.timeoutMs <= 0 || (isKnown(this.#identity) && reply.id !== this.#identity.id)) {
          connection.destroy(new SessionExpiredError('the session has expired'));
          return this.expire('the session has expired');
        }
        const isWaived = !this.#hasEnded && handshake.lastZxid < this.#identity.lastZxid;
        if (isWaived && !(await this.#hasAllSeen(connection))) {
          await this.#sayGoodbye(connection);
          if (!isKnown(this.#identity)) return this.expire(LOST_DATA);
        } else if (await this.#use(connection, reply)) return;
      }
    } catch (error) {
      connection?.destroy(toError(error)); // Changes nothing if it has ended.
      if (!this.#hasEnded) this.#session.fail(toError(error)); // Else the search was given up.
    }
  }

  get #hasEnded(): boolean {
    return hasEnded(this.#session.state);
  }

  /** While the session lives, and after it was closed until a server has closed it too. */
  get #isNeeded(): boolean {
    return !this.#hasEnded || (this.#session.state.name === 'closed' && isKnown(this.#identity));
  }

  get #clock(): Clock {
    return this.#options.environment.clock;
  }

  #dial() {
    const handshake = () => this.#handshake();
    return this.#dialer.dial(handshake, this.#session, () => this.#isNeeded, this.#abandonment);
  }

  #handshake(): Handshake {
    const { state } = this.#session;
    const { lastZxid, sessionTimeoutMs } = this.#identity;
    const unservedMs = state.name === 'suspended' ? this.#clock.now() - state.sinceMs : 0;
    // Any server can end a session that was closed, whatever that server has missed.
    const isWaived = state.name === 'closed' || waivesZxid(unservedMs, sessionTimeoutMs);
    return {
      ...credentialsOf(this.#identity),
      timeoutMs: this.#options.sessionTimeoutMs,
      lastZxid: isWaived ? 0n : lastZxid,
    };
  }

  /** Nothing is reported of a session that was closed: no caller waits for it, and its owner's next session reports. */
  #reportOutage(servers: number): void {
    if (this.#hasEnded) return;
    const error = this.#outage.report(this.#clock.now(), servers);
    if (error !== undefined) this.#session.report(error, 'no server serves the session');
  }

  /** Ends the session as expired, unless it has ended. */
  expire(why: string): void {
    if (this.#hasEnded) return; // Closed meanwhile: its owner may still be without a server.
    this.#outage.end(); // A server has answered.
    this.#session.expire(why);
  }

  /** What has to be done over a new connection; `true` if it serves the session then. */
  async #use(connection: Connection, reply: HandshakeReply): Promise<boolean> {
    this.#adopt(reply);
    if (!this.#hasEnded && !(await this.#authenticate(connection))) return false;
    if (this.#hasEnded) {
      await this.#sayGoodbye(connection);
      return false;
    }
    this.#search = undefined;
    this.#outage.end();
    this.#served?.resolve();
    this.#served = undefined;
    this.#session.serve(connection);
    return true;
  }

  #adopt(reply: HandshakeReply): void {
    const isFirst = !isKnown(this.#identity);
    this.#identity = granted(this.#identity, reply, this.#options);
    if (isFirst) this.#warnOfGrant();
  }

  #warnOfGrant(): void {
    const { logger, leaseMs, sessionTimeoutMs: askedMs } = this.#options;
    const { sessionTimeoutMs: grantedMs } = this.#identity;
    if (leaseMs !== undefined && leaseMs !== this.#identity.leaseMs) {
      const message = 'leaseMs does not fit the granted session timeout: using a third of that';
      warnOfSetup(logger, { leaseMs, grantedMs }, message);
    }
    if (askedMs !== grantedMs)
      warnOfSetup(logger, { askedMs, grantedMs }, 'the servers granted another session timeout');
  }

  /**
   * Whether a server that was shown no zxid has all that the session has seen; `false` too if the connection has ended. Without
   * it, nothing that the session knows can be relied on: that server doesn't serve the session, but is asked to close it.
   */
  async #hasAllSeen(connection: Connection): Promise<boolean> {
    const seen = this.#identity.lastZxid;
    const hasAllSeen = async () => (await connection.ping()).zxid >= seen;
    return (await this.#ask(connection, hasAllSeen)) ?? false;
  }

  /** Shows the credentials; `false` if the connection ended over it. @throws AuthenticationError if they are refused */
  async #authenticate(connection: Connection): Promise<boolean> {
    const authenticate = async () => {
      for (const credentials of this.#options.credentials) await connection.authenticate(credentials);
      return true;
    };
    return (await this.#ask(connection, authenticate)) ?? false;
  }

  async #leave(connection: Connection): Promise<void> {
    await this.#sayGoodbye(connection);
    await this.#find(); // Of another server, if this one hasn't answered.
  }

  /** Asks the server to close the session. It stays known if that isn't acknowledged in time: the next server is asked. */
  async #sayGoodbye(connection: Connection): Promise<void> {
    const reply = await this.#ask(connection, () => connection.send(closeSessionRequest()));
    if (reply !== undefined) this.#identity = withoutCredentials(this.#identity);
    connection.destroy(new SessionClosedError('the session was closed'));
  }

  /**
   * Asks over a connection that doesn't serve the session yet, or any more. A connection without an answer within a third of
   * the session timeout is ended; `undefined` if it has ended. @throws AuthenticationError if the credentials are refused
   */
  async #ask<T>(connection: Connection, ask: () => Promise<T>): Promise<T | undefined> {
    const silent = new ConnectionLossError('no answer in time: the link is dead');
    const timer = afterPendingInput(this.#clock, this.#identity.sessionTimeoutMs / 3, () =>
      connection.destroy(silent),
    );
    const unsubscribe = onAbort(this.#abandonment, () =>
      connection.destroy(this.#abandonment.reason as Error),
    );
    try {
      return await ask();
    } catch (error) {
      this.#outage.failed(connection.server, error);
      connection.destroy(toError(error)); // Mostly it has ended, which was the error.
      if (error instanceof AuthenticationError) throw error;
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
