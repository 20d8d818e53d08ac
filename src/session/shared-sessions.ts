import { abortable, ignore } from '../platform/async/promises.js';
import type { Session } from './session.js';
import type { SessionSource } from './session-source.js';

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
