import { AuthenticationError, ConnectionLossError, ConnectTimeoutError, describe } from '../errors.js';
import { jitteredPauseMs } from '../platform/retry/backoff.js';
import { sleep } from '../platform/time/clock.js';
import { Outage } from './connection/outage.js';
import { Session } from './session.js';
import type { ResolvedSessionOptions } from './session-options.js';

/** Where sessions come from, one after the other. An `ElectionSupervisor` is one. */
export interface SessionSource {
  /**
   * Resolves with the session that is open, or else with the next one that will be. The same one again, when it is
   * over, says that there is none after it.
   *
   * @throws why there will be none any more, or the signal's reason
   */
  session(signal: AbortSignal): Promise<Session>;
}

/** @internal What sessions of one's own are opened with: options that were checked. */
export type OwnSessionOptions = Pick<ResolvedSessionOptions, 'environment' | 'logger'> & {
  /** As they were given. */
  readonly given: object;
};

/** @internal Opens one session after the other, with a pause that grows, with jitter, while they come to nothing. */
export class OwnSessions implements SessionSource {
  readonly #connect: string;
  readonly #options: OwnSessionOptions;
  readonly #onError: (error: unknown) => void;
  readonly #outage = new Outage();
  #session: Session | undefined;
  #openedAt = 0;
  /** Sessions in a row that weren't opened, or were over at once. */
  #setbacks = 0;

  /** @param onError - told of what went wrong: that no server serves, say, after each round and then less and less often */
  constructor(connect: string, options: OwnSessionOptions, onError: (error: unknown) => void) {
    this.#connect = connect;
    this.#options = options;
    this.#onError = onError;
  }

  /** @throws AuthenticationError if the servers refuse the credentials, or the signal's reason */
  async session(signal: AbortSignal): Promise<Session> {
    const { clock, random } = this.#options.environment;
    if (this.#session !== undefined && clock.now() - this.#openedAt > this.#session.sessionTimeoutMs)
      this.#setbacks = 0;
    for (;;) {
      if (this.#setbacks > 0) await sleep(clock, jitteredPauseMs(this.#setbacks, random()), signal);
      this.#setbacks++;
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
      if (error instanceof AuthenticationError) throw error; // Trying again won't make the credentials right.
      logger.info({ cause: describe(error) }, 'could not open a session');
      // A session that finds no server has said so, as often as is good for whoever reads it.
      const unreachable = error instanceof ConnectTimeoutError || error instanceof ConnectionLossError;
      if (!unreachable) this.#onError(error);
      return undefined;
    }
  }
}
