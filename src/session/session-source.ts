import {
  AuthenticationError,
  ConnectionLossError,
  ConnectTimeoutError,
  EnsembleResetError,
  InvalidOptionError,
} from '../errors.js';
import { abortable, ignore } from '../platform/async/promises.js';
import { jitteredPauseMs } from '../platform/retry/backoff.js';
import { sleep } from '../platform/time/clock.js';
import { Outage } from './connection/outage.js';
import type { ConnectSource } from './connection/server-list.js';
import { Session } from './session.js';
import type { ResolvedSessionOptions } from './session-options.js';

/** Gives sessions, one after the other. An `ElectionSupervisor` is a session source. */
export interface SessionSource {
  /**
   * Resolves with the open session or, if none is open, with the next one that opens. If it resolves with a session that has
   * ended, no other follows.
   *
   * @throws an error that says why no other session follows, or the signal's reason
   */
  session(signal: AbortSignal): Promise<Session>;
}

/** @internal The checked options of the sessions that `OwnSessions` opens. */
export type OwnSessionOptions = Pick<ResolvedSessionOptions, 'environment' | 'logger'> & {
  /** The options as the caller gave them. */
  readonly given: object;
};

/** @internal Opens one session after the other. After a failure it pauses, for longer each time, with jitter. */
export class OwnSessions implements SessionSource {
  readonly #connect: ConnectSource;
  readonly #options: OwnSessionOptions;
  readonly #onError: (error: unknown) => void;
  readonly #outage = new Outage();
  #session: Session | undefined;
  #openedAt = 0;
  #failedAttempts = 0; // How many sessions in a row couldn't be opened, or ended at once.

  /**
   * @param onError - gets each error. If no server serves, for example, it is called after the first round of servers and then
   *   less and less often
   */
  constructor(connect: ConnectSource, options: OwnSessionOptions, onError: (error: unknown) => void) {
    this.#connect = connect;
    this.#options = options;
    this.#onError = onError;
  }

  /**
   * @throws before any session was served, AuthenticationError if the servers refuse the credentials, and InvalidOptionError if a function
   *   among the options has given a wrong value; or the signal's reason
   */
  async session(signal: AbortSignal): Promise<Session> {
    const { clock, random } = this.#options.environment;
    if (this.#session !== undefined && clock.now() - this.#openedAt > this.#session.sessionTimeoutMs)
      this.#failedAttempts = 0;
    for (;;) {
      if (this.#failedAttempts > 0)
        await sleep(clock, jitteredPauseMs(this.#failedAttempts, random()), signal);
      this.#failedAttempts++;
      this.#session = await this.#tryToOpen(signal);
      this.#openedAt = clock.now();
      if (this.#session !== undefined) return this.#session;
    }
  }

  /** Closes the session that is open, if one is. Never rejects. */
  async close(): Promise<void> {
    await this.#session?.close();
  }

  async #tryToOpen(signal: AbortSignal): Promise<Session | undefined> {
    const { given, logger } = this.#options;
    try {
      const owner = { onError: this.#onError, outage: this.#outage };
      return await Session.open(this.#connect, { ...given, logger, signal }, owner);
    } catch (error) {
      signal.throwIfAborted();
      // Another attempt won't make the credentials right, nor a function that has never given a right value.
      if (error instanceof AuthenticationError || error instanceof InvalidOptionError) throw error;
      logger.info({ err: error }, 'could not open a session');
      // A session that finds no server reports that by itself, at growing intervals.
      const unreachable = error instanceof ConnectTimeoutError || error instanceof ConnectionLossError;
      if (!unreachable) this.#onError(error);
      return undefined;
    }
  }
}

/** @internal Gives the sessions of a source, one after the other, each to several users. */
export class SharedSessions implements SessionSource {
  readonly #source: SessionSource;
  readonly #closed: AbortSignal;
  #opening: Promise<Session> | undefined;

  /** @param closed - when it aborts, no further session is opened; the one that is open remains the source's */
  constructor(source: SessionSource, closed: AbortSignal) {
    this.#source = source;
    this.#closed = closed;
  }

  async session(signal: AbortSignal): Promise<Session> {
    for (;;) {
      this.#opening ??= this.#source.session(this.#closed);
      const opening = this.#opening;
      opening.catch(ignore); // By then all users may have gone.
      const session = await abortable(opening, signal);
      if (!session.signal.aborted) return session;
      if (this.#opening === opening) this.#opening = undefined;
    }
  }
}

/**
 * Checks whether the ensemble still has the transactions that earlier sessions of one owner have seen. The creation of a session
 * is a transaction. So a server that serves a new session has a newer zxid than any earlier session of the same ensemble has
 * seen. A lower zxid shows that the ensemble's data was lost or restored.
 */
export class EnsembleHistory {
  #former: Session | undefined;
  #seenZxid = 0n; // The newest transaction that any session before the last one has seen; 0 after a reset.

  /**
   * Compares a new session with the earlier ones, and remembers it. The first session costs no request, later ones mostly one
   * read. Never rejects.
   * @returns the error to report, once for each reset; `undefined` if nothing was lost, or if no server has answered
   */
  async follow(session: Session): Promise<EnsembleResetError | undefined> {
    const former = this.#former?.newestZxid ?? 0n;
    const seen = former > this.#seenZxid ? former : this.#seenZxid;
    this.#former = session;
    this.#seenZxid = seen;
    if (seen === 0n) return undefined;
    if (session.newestZxid === 0n) await session.exists('/').catch(ignore);
    // If sessions are local to a server, that server may be behind. A commit brings it up to date.
    if (isBehind(session, seen)) await session.commit([{ kind: 'check', path: '/' }]).catch(ignore);
    if (!isBehind(session, seen)) return undefined;
    this.#seenZxid = 0n;
    return new EnsembleResetError(seen, session.newestZxid);
  }
}

function isBehind({ newestZxid }: Session, seen: bigint): boolean {
  return newestZxid > 0n && newestZxid < seen;
}
