import { abortable, deferred, ignore } from '../../platform/async/promises.js';
import { jitteredPauseMs } from '../../platform/retry/backoff.js';
import { sleep } from '../../platform/time/clock.js';
import { onStale } from '../../session/observers/observer-lifecycle.js';
import type { Session } from '../../session/session.js';
import type { GroupPaths } from '../stored/group-paths.js';
import { GroupReading } from './group-reading.js';
import type { GroupView } from './group-view.js';

/** The observer, as a {@link GroupWatch} uses it. */
export interface GroupWatchPort {
  readonly paths: GroupPaths;
  /** Whether it has ever read the group, with any session. */
  readonly hasRead: () => boolean;
  /** The view may have changed. Another view was read from the beginning. */
  readonly onView: (view: GroupView) => void;
  /** Don't trust earlier reads any longer. */
  readonly onBlind: () => void;
  readonly onError: (error: unknown) => void;
}

/** Follows who owns the shards of a group, with one session, until that ends. */
export class GroupWatch {
  readonly #session: Session;
  readonly #port: GroupWatchPort;
  readonly #ended: AbortSignal;
  #failedAttempts = 0;

  /** @param ended - aborts when the session ends, or the observer stops */
  constructor(session: Session, port: GroupWatchPort, ended: AbortSignal) {
    this.#session = session;
    this.#port = port;
    this.#ended = ended;
  }

  /** @throws a server's refusal, if the observer has never read anything */
  async run(): Promise<void> {
    const { clock, environment } = this.#session;
    while (!this.#ended.aborted) {
      try {
        await this.#follow();
      } catch (error) {
        if (this.#ended.aborted) return;
        if (!this.#port.hasRead()) throw error;
        this.#port.onBlind();
        this.#port.onError(error);
        const pauseMs = jitteredPauseMs(++this.#failedAttempts, environment.random());
        await sleep(clock, pauseMs, this.#ended).catch(ignore); // Rejects only at the end, which the loop checks.
      }
    }
  }

  /** Resolves when all has to be read anew. @throws a server's refusal, or the reason of the end */
  async #follow(): Promise<void> {
    const over = deferred();
    const { onView, onError, onBlind } = this.#port;
    let isStale = false;
    const reading = new GroupReading(this.#session, this.#port.paths, {
      onView: (view) => {
        if (isStale) return;
        this.#failedAttempts = 0;
        onView(view);
      },
      onRefused: onError,
      onFailed: over.reject,
    });
    const stale = () => {
      isStale = true;
      onBlind();
    };
    const unsubscribe = onStale(this.#session, stale, () => isStale && over.resolve());
    try {
      await abortable(over.promise, this.#ended);
    } finally {
      unsubscribe();
      reading.stop();
    }
  }
}
