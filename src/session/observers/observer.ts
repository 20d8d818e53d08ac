import { InvalidStateError, SessionClosedError, SessionExpiredError } from '../../errors.js';
import { abortable, deferred, ignore } from '../../platform/async/promises.js';
import { markStopped, type StartOptions, start } from '../../platform/async/start-with-signal.js';
import { DropOldestQueue } from '../../platform/collections/drop-oldest-queue.js';
import { type Logger, withFields } from '../../platform/logging/logger.js';
import { ReportingEmitter } from '../../platform/logging/reporting-emitter.js';
import { jitteredPauseMs } from '../../platform/retry/backoff.js';
import { sleep, type Timer } from '../../platform/time/clock.js';
import type { Session } from '../session.js';
import { EnsembleHistory } from '../session-source.js';
import type { ObserverSource } from './observer-sessions.js';

/** Listens to what an observer reads with one session. */
export interface ReadingListener<T> {
  /** All was read: at first, and again after changes. */
  onRead(what: T): void;
  /** A server refuses to show a part, which is left out. */
  onRefused(error: unknown): void;
  /** The reading is of no use any more: a server refuses, or the session has ended. */
  onFailed(error: unknown): void;
}

/** The reading of an observer with one session. */
export interface SessionReading {
  stop(): void;
}

/**
 * - `unread`: nothing was read yet: `start()` hasn't resolved.
 * - `seeing`: it shows what it has read.
 * - `blind`: it can no longer read: it has no session, or no server for a session timeout, or a server refuses.
 * - `stopped`: final.
 *
 * unread → seeing ⇄ blind; any → stopped.
 */
type State = 'unread' | 'seeing' | 'blind' | 'stopped';

/** What an observer of any kind does: it reads with one session after another, and shows what it has read last. */
export abstract class Observer<
  Read,
  Shown,
  Events extends Record<keyof Events, (...args: never[]) => void> & {
    change(change: never): void;
    error(error: Error): void;
  },
> extends ReportingEmitter<Events> {
  /** @internal */
  protected readonly logger: Logger;
  readonly #life: ObserverLife;
  readonly #history = new EnsembleHistory();
  readonly #longestQueue: number;
  readonly #iterators = new Set<DropOldestQueue<Shown>>();
  #state: State = 'unread';

  /**
   * @param resolve - checks the options. Its argument receives the errors of sessions that the observer has opened
   * @param fields - what each log line has
   * @param longestQueue - how many changes wait for the consumer of an iterator that doesn't keep up
   * @internal
   */
  protected constructor(
    resolve: (onError: (error: unknown) => void) => ObserverSource,
    fields: Record<string, string>,
    longestQueue: number,
  ) {
    super();
    const { logger, ...source } = resolve((error) => this.report(error));
    this.logger = withFields(logger, fields);
    this.#longestQueue = longestQueue;
    this.#life = new ObserverLife(source, {
      follow: (session, ended) => this.#follow(session, ended),
      onBlind: () => this.#loseSight(),
      onStopped: () => this.#stopped(),
      onError: (error) => this.report(error),
    });
  }

  /** @internal Begins to read with this session. */
  protected abstract read(session: Session, listener: ReadingListener<Read>): SessionReading;
  /** @internal Takes over what was read. @returns whether it has told of a change */
  protected abstract see(what: Read): boolean;
  /** @internal What was read can't be trusted any longer. */
  protected abstract loseSight(): void;
  /** @internal What iterators get. */
  protected abstract get shown(): Shown;

  /** @internal Whether a refusal before the first read ends the observer. */
  protected get endsByFirstRefusal(): boolean {
    return true;
  }

  /** @internal Whether it shows what it has read. */
  protected get isSeeing(): boolean {
    return this.#state === 'seeing';
  }

  /** @internal */
  protected get hasStopped(): boolean {
    return this.#state === 'stopped';
  }

  /** @internal Called once, when the observer stops. Events may be emitted until then. */
  protected beforeStop(): void {
    // Most observers have nothing left to tell.
  }

  /** @internal Tells iterators and listeners of a change. */
  protected tell(change: Parameters<Events['change']>[0]): void {
    this.#push();
    this.emit('change', ...([change] as unknown as Parameters<Events['change']>));
  }

  /**
   * Begins to observe. Resolves after the first read, also if there is nothing to observe yet; with a connect string or a supervisor,
   * however long it takes until there is a session. A second call returns the promise of the first one. Handle its rejection, as with any
   * promise. A rejection because the observer was stopped needn't be handled.
   *
   * @throws InvalidOptionError if an option is wrong, or the reason of `options.signal` if that aborts before
   * @throws InvalidStateError if the observer was stopped, before or meanwhile, or its supervisor was
   * @throws SessionExpiredError, SessionClosedError if the session it was given ends before
   * @throws AuthenticationError if the servers refuse the credentials: it is stopped then
   * @throws ZooKeeperError if a server refuses, for lack of permission for example; the observer then stops. An `Overview` leaves out what it
   *   may not read, and tries again
   */
  start(options?: StartOptions): Promise<void> {
    return this.#life.start(options);
  }

  /**
   * Stops observing: no event comes after it, and its iterators end. Resolves when its own sessions are closed, after
   * 2 s at most. Nothing of it is left, in this process or at a server. Never rejects.
   */
  stop(): Promise<void> {
    return this.#life.stop();
  }

  /** Stops it, for `await using`: the same as `stop()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** @internal */
  protected iterate(): DropOldestQueue<Shown> {
    const iterator = new DropOldestQueue<Shown>(this.#longestQueue, () => this.#iterators.delete(iterator));
    if (this.hasStopped) iterator.end();
    else this.#iterators.add(iterator);
    if (this.#state === 'seeing' || this.#state === 'blind') iterator.push(this.shown);
    return iterator;
  }

  async #follow(session: Session, ended: AbortSignal): Promise<void> {
    // A server that is behind has caught up by then: nothing older is shown than with the session before.
    const reset = await abortable(this.#history.follow(session), this.#life.stopped);
    if (reset !== undefined) this.report(reset);
    let failedAttempts = 0;
    const hasRead = (what: Read) => {
      failedAttempts = 0;
      this.#see(what);
    };
    while (!ended.aborted) {
      try {
        await this.#readWith(session, ended, hasRead);
      } catch (error) {
        if (ended.aborted) return;
        if (this.#state === 'unread' && this.endsByFirstRefusal) throw error;
        this.#loseSight();
        this.report(error);
        const pauseMs = jitteredPauseMs(++failedAttempts, session.environment.random());
        await sleep(session.clock, pauseMs, ended).catch(ignore); // Rejects only at the end, which the loop checks.
      }
    }
  }

  /** Resolves when all has to be read anew. @throws a server's refusal, or the reason of the end */
  async #readWith(session: Session, ended: AbortSignal, hasRead: (what: Read) => void): Promise<void> {
    const over = deferred();
    let isStale = false;
    const reading = this.read(session, {
      onRead: (what) => {
        if (!isStale) hasRead(what);
      },
      onRefused: (error) => this.report(error),
      onFailed: over.reject,
    });
    const stale = () => {
      isStale = true;
      this.#loseSight();
    };
    const unsubscribe = onStale(session, stale, () => isStale && over.resolve());
    try {
      await abortable(over.promise, ended);
    } finally {
      unsubscribe();
      reading.stop();
    }
  }

  #see(what: Read): void {
    if (this.hasStopped) return;
    const isFirst = this.#state === 'unread';
    this.#state = 'seeing';
    this.#life.hasRead();
    const hasTold = this.see(what);
    if (isFirst && !hasTold) this.#push(); // Iterators wait for it, whatever it has shown.
  }

  #loseSight(): void {
    if (this.#state === 'seeing') this.#state = 'blind';
    if (!this.hasStopped) this.loseSight();
  }

  #stopped(): void {
    this.beforeStop();
    this.#state = 'stopped';
    for (const iterator of this.#iterators) iterator.end();
    this.#iterators.clear();
  }

  #push(): void {
    for (const iterator of this.#iterators) iterator.push(this.shown);
  }
}

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
