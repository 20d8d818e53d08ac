import type { EnsembleResetError } from '../../errors.js';
import { onAbort } from '../../platform/async/lazy-abort-controller.js';
import { abortable, type Deferred, deferred, ignore } from '../../platform/async/promises.js';
import { Outage } from '../../session/connection/outage.js';
import { Session } from '../../session/session.js';
import { EnsembleHistory } from '../../session/session-source.js';
import type { LoopOptions } from './supervision-loop-options.js';

/** The sessions of a supervisor, one after the other: opens them, and lends the current one to the application. */
export class SupervisorSessions {
  readonly #options: Pick<LoopOptions<never>, 'connect' | 'sessionOptions'>;
  readonly #onError: (error: Error) => void;
  /** One for all sessions: as long as no server serves, each attempt to open a session goes on with the same outage. */
  readonly #outage = new Outage();
  readonly #history = new EnsembleHistory();
  #leaseMs = 0;
  #current = nextSession(); // The session that is open, or else the next one.

  constructor(
    options: Pick<LoopOptions<never>, 'connect' | 'sessionOptions'>,
    onError: (error: Error) => void,
  ) {
    this.#options = options;
    this.#onError = onError;
  }

  /** The lease of the newest session, in milliseconds; 0 before the first session. */
  get leaseMs(): number {
    return this.#leaseMs;
  }

  /** @throws as `Session.connect` does, or the signal's reason */
  open(signal: AbortSignal): Promise<Session> {
    const { connect, sessionOptions } = this.#options;
    const surroundings = { onError: this.#onError, outage: this.#outage };
    return Session.open(connect, { ...sessionOptions, signal }, surroundings);
  }

  /** From now until it ends, `session` is the current one. */
  lend(session: Session): void {
    this.#leaseMs = session.leaseMs;
    this.#current.resolve(session);
    onAbort(session.ended, () => {
      this.#current = nextSession();
    });
  }

  end(reason: Error): void {
    this.#current.reject(reason);
  }

  /** The error to report if the ensemble has lost transactions that earlier sessions have seen. @throws the signal's reason */
  compareWithEarlier(session: Session, signal: AbortSignal): Promise<EnsembleResetError | undefined> {
    return abortable(this.#history.follow(session), signal);
  }

  /** The session that is open, or else the next one. @throws the reason of {@link end}, or the signal's */
  async current(signal?: AbortSignal): Promise<Session> {
    return await abortable(this.#current.promise, signal);
  }

  /**
   * The value of `read` with the current session. If that ends before, `read` is called with the next one.
   *
   * @throws ZooKeeperError if a server refuses; or the reason of {@link end}, or the signal's
   */
  async ask<T>(signal: AbortSignal | undefined, read: (session: Session) => Promise<T>): Promise<T> {
    for (;;) {
      const session = await this.current(signal);
      try {
        return await abortable(read(session), signal);
      } catch (error) {
        if (!session.ended.aborted || signal?.aborted) throw error;
      }
    }
  }
}

function nextSession(): Deferred<Session> {
  const session = deferred<Session>();
  session.promise.catch(ignore); // The callers of `current` see it.
  return session;
}
