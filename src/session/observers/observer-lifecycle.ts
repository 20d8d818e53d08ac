import { InvalidStateError, SessionClosedError, SessionExpiredError } from '../../errors.js';
import { deferred } from '../../platform/async/promises.js';
import { markStopped, type StartOptions, start } from '../../platform/async/start-with-signal.js';
import type { Timer } from '../../platform/time/clock.js';
import type { Session } from '../session.js';
import type { ObserverSource } from './observer-sessions.js';

/** An observer of any kind, as its {@link ObserverLife} uses it. */
export interface ObserverPort {
  /**
   * Observes with this session.
   * @param ended - aborts when the session ends, or the observer stops: then it resolves
   * @throws a server's refusal, if the observer has never read anything
   */
  follow(session: Session, ended: AbortSignal): Promise<void>;
  /** The session has ended, and another one may follow. */
  onBlind(): void;
  /** The observer has stopped. Called once. */
  onStopped(): void;
  onError(error: unknown): void;
}

/**
 * The life of an observer of any kind. It starts once, and observes with one session after another. It stops for good when it is told
 * to, or when no session is left.
 */
export class ObserverLife {
  readonly #source: Pick<ObserverSource, 'source' | 'close'>;
  readonly #port: ObserverPort;
  readonly #stop = new AbortController();
  readonly #started = deferred();
  /** `starting`: nothing was read yet. */
  #stage: 'idle' | 'starting' | 'observing' | 'stopped' = 'idle';
  #running: Promise<void> = Promise.resolve();

  constructor(source: Pick<ObserverSource, 'source' | 'close'>, port: ObserverPort) {
    this.#source = source;
    this.#port = port;
  }

  /** Resolves after the first read. A second call returns the promise of the first one. */
  start(options?: StartOptions): Promise<void> {
    return start(options, { begin: () => this.#begin(), stop: () => this.stop() });
  }

  #begin(): Promise<void> {
    if (this.#stage === 'stopped')
      return Promise.reject(new InvalidStateError('the observer has stopped: create a new one'));
    if (this.#stage === 'idle') {
      this.#stage = 'starting';
      this.#running = this.#run();
    }
    return this.#started.promise;
  }

  /** To be called when the observer has read something. */
  hasRead(): void {
    if (this.#stage === 'starting') this.#stage = 'observing';
    this.#started.resolve();
  }

  /** Aborts when the observer stops. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  /** Resolves when the observer's own sessions are closed. Never rejects. */
  async stop(): Promise<void> {
    markStopped(this.#started.promise);
    this.#end(new InvalidStateError('the observer was stopped before its first read'));
    await this.#running;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let former: Session | undefined;
    try {
      for (;;) {
        const session = await this.#source.source.session(signal);
        if (session === former) throw session.ended.reason; // There is none after it.
        former = session;
        await this.#port.follow(session, AbortSignal.any([session.signal, signal]));
        signal.throwIfAborted();
        this.#port.onBlind();
      }
    } catch (error) {
      this.#finish(error);
    }
    await this.#source.close();
  }

  /** No session is left, or it is of no use. */
  #finish(reason: unknown): void {
    // Before the first read `start` rejects. An orderly end is reported elsewhere: by the session, by the supervisor.
    const orderly = [SessionExpiredError, SessionClosedError, InvalidStateError];
    if (this.#stage === 'observing' && !orderly.some((type) => reason instanceof type))
      this.#port.onError(reason);
    this.#end(reason);
  }

  #end(reason: unknown): void {
    if (this.#stage === 'stopped') return;
    this.#stage = 'stopped';
    this.#started.reject(reason);
    this.#port.onStopped();
    this.#stop.abort(reason);
  }
}

/**
 * Reports when the session has had no server for a session timeout, after which nothing it has read can be trusted; and when
 * it is served again: an ensemble that was away as a whole lets its sessions live on. Returns what unsubscribes.
 */
export function onStale(session: Session, stale: () => void, resumed: () => void): () => void {
  let timer: Timer | undefined;
  const onSuspended = () => {
    timer = session.clock.after(session.sessionTimeoutMs, stale, { background: true });
  };
  const onResumed = () => {
    timer?.clear();
    resumed();
  };
  session.on('suspended', onSuspended).on('resumed', onResumed);
  if (session.state.name === 'suspended') onSuspended();
  return () => {
    timer?.clear();
    session.off('suspended', onSuspended).off('resumed', onResumed);
  };
}
