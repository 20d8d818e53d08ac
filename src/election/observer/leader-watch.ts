import { onAbort } from '../../platform/async/lazy-abort-controller.js';
import { abortable, deferred, ignore } from '../../platform/async/promises.js';
import { jitteredPauseMs } from '../../platform/retry/backoff.js';
import { sleep } from '../../platform/time/clock.js';
import { onStale } from '../../session/observers/observer-lifecycle.js';
import type { Session } from '../../session/session.js';
import { ElectionReader } from '../record/election-reader.js';
import { isInDoubt, type LeaderSnapshot } from '../record/read-at-once.js';
import { lastReadOf, type ObserverState } from './observer-state.js';

/** The observer, as a {@link LeaderWatch} uses it. */
export interface LeaderWatchPort {
  readonly path: string;
  readonly state: () => ObserverState;
  readonly onRead: (snapshot: LeaderSnapshot) => void;
  /** Don't trust earlier reads any longer. */
  readonly onBlind: () => void;
  readonly onError: (error: unknown) => void;
}

/** Reads who leads an election, with one session: again whenever that may have changed, until the session ends. */
export class LeaderWatch {
  readonly #session: Session;
  readonly #port: LeaderWatchPort;
  readonly #ended: AbortSignal;
  readonly #reader: ElectionReader;
  /** Resolves when what was read may have changed. */
  #changed = deferred();

  /** @param ended - aborts when the session ends, or the observer stops */
  constructor(session: Session, port: LeaderWatchPort, ended: AbortSignal) {
    this.#session = session;
    this.#port = port;
    this.#ended = ended;
    this.#reader = new ElectionReader(session, port.path);
  }

  /** @throws a server's refusal, if the observer has never read anything */
  async run(): Promise<void> {
    const readAgain = () => this.#port.state().name === 'blind' && this.#changed.resolve();
    const unsubscribe = onStale(this.#session, this.#port.onBlind, readAgain);
    try {
      for (let failedAttempts = 0; !this.#ended.aborted; ) {
        this.#changed = deferred();
        try {
          if (await this.#readAndWait()) failedAttempts = 0;
          // A watch for the creation of a missing node could not be removed from the servers. So the observer polls, in
          // the end as often as a session pings.
          else await this.#pause(++failedAttempts, this.#session.sessionTimeoutMs / 5);
        } catch (error) {
          if (this.#ended.aborted) return;
          if (lastReadOf(this.#port.state()) === undefined) throw error;
          this.#port.onBlind();
          this.#port.onError(error);
          await this.#pause(++failedAttempts).catch(ignore); // Rejects only at the end, which the loop checks.
        }
      }
    } finally {
      unsubscribe();
    }
  }

  /** Reads, and waits until that may have changed; `false` at once if the election is missing: it can't be watched. */
  async #readAndWait(): Promise<boolean> {
    const watch = new AbortController();
    const unsubscribe = onAbort(this.#ended, () => watch.abort(this.#ended.reason));
    try {
      const snapshot = await this.#read(watch.signal);
      this.#port.onRead(snapshot);
      if (snapshot.kind === 'missing') return false;
      await abortable(this.#changed.promise, this.#ended);
      return true;
    } finally {
      unsubscribe();
      watch.abort(); // Removes the watches that are left: the next read sets its own.
    }
  }

  /** If a read may be older than what was read before, the server has to catch up first: what it says then is true. */
  async #read(signal: AbortSignal): Promise<LeaderSnapshot> {
    const changed = this.#changed;
    const watch = { onChange: () => changed.resolve(), signal };
    const snapshot = await this.#reader.snapshot(watch);
    if (!isInDoubt(snapshot, lastReadOf(this.#port.state())?.snapshot)) return snapshot;
    await this.#reader.catchUp(signal);
    return await this.#reader.snapshot(watch);
  }

  /** @throws the reason of the end */
  #pause(failedAttempts: number, longestMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { clock, environment } = this.#session;
    const ms = jitteredPauseMs(failedAttempts, environment.random());
    return sleep(clock, Math.min(longestMs, ms), this.#ended);
  }
}
