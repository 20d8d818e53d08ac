import { InvalidStateError, SessionClosedError, SessionExpiredError } from '../errors.js';
import { abortable, type Deferred, deferred } from '../platform/async/promises.js';
import { markStopped, type StartOptions, start } from '../platform/async/start-with-signal.js';
import { checkOptions, checkPath } from '../platform/checks.js';
import { systemEnvironment } from '../platform/injected-environment.js';
import type { Logger } from '../platform/logging/logger.js';
import { type Reporting, ReportingEmitter } from '../platform/logging/reporting-emitter.js';
import { jitteredPauseMs } from '../platform/retry/backoff.js';
import type { EventNames } from '../platform/safe-emitter.js';
import { type Clock, sleep, type Timer } from '../platform/time/clock.js';
import { showAs } from '../public-class/shown-in-console.js';
import { type ObserverSource, resolveSource } from '../session/observers/observer-sessions.js';
import { Session } from '../session/session.js';
import { type SessionOptions, WITHIN_SESSION } from '../session/session-options.js';
import { EnsembleHistory, type SessionSource } from '../session/session-source.js';
import { OverviewModel } from './model/overview-model.js';
import { ServerClock } from './model/server-clock.js';
import type { OverviewChange, OverviewState } from './model/views.js';
import { SessionReading } from './with-one-session.js';

/** Options of an `Overview`. */
export interface OverviewOptions {
  /** The overview shows this node and all nodes below it. @default '/' */
  readonly root?: string;
  /** How the overview opens its sessions, with a connect string only. There is no `signal`, because `stop()` ends the sessions. */
  readonly session?: Omit<SessionOptions, 'signal'>;
  /** Any logger with pino's methods. @default the session's, else pino at the level of CONCLAVE_LOG_LEVEL */
  readonly logger?: Logger;
}

interface ResolvedOverviewOptions extends ObserverSource {
  readonly root: string;
  readonly clock: Clock;
}

const KNOWN = ['root', 'session', 'logger'] as const;

/** @param onError - receives the errors of the sessions that the overview has opened. @throws InvalidOptionError */
export function resolveOverviewOptions(
  from: unknown,
  given: unknown,
  onError: (error: unknown) => void,
): ResolvedOverviewOptions {
  const options = checkOptions<OverviewOptions>('overview', given, KNOWN, WITHIN_SESSION);
  const { root = '/' } = options;
  if (root !== '/') checkPath('root', root);
  const source = resolveSource(from, options, { onError, supervisor: 'a supervisor' });
  const environment = from instanceof Session ? from.environment : options.session?.environment;
  return { root, clock: (environment ?? systemEnvironment).clock, ...source };
}

/** The events of an `Overview`. */
export interface OverviewEvents {
  /** The parts of the state that have changed, at most ten times in a second. */
  change(change: OverviewChange): void;
  /** Something went wrong and reading begins anew, or a listener threw. */
  error(error: Error): void;
}

const OVERVIEW_EVENTS: EventNames<OverviewEvents> = { change: true, error: true };

/** How long to wait for the rest of a batch: one transaction causes several notifications. */
const GATHER_MS = 20;
const BATCH_EVERY_MS = 100;

/**
 * - `idle`: not started.
 * - `waiting`: there is no session, or reading has failed and begins anew after a pause.
 * - `reading`: a session reads, or is suspended.
 * - `stopped`: final.
 */
type State =
  | { readonly name: 'idle' | 'waiting' | 'stopped' }
  | { readonly name: 'reading'; readonly reading: SessionReading };

/**
 * A live picture of all elections, locks and groups of shards below a root, for operators. It only reads: it needs no right to write, and
 * creates nothing. If the root is missing, it waits for it.
 *
 * The picture is a moment old, and proves nothing: only a leader's own `term` says whether it leads. Not guaranteed: every state in
 * between. The overview may miss a term that begins and ends within a tenth of a second.
 *
 * It sets one watch for each election and lock and for each node above them, one for the record of each election while there are
 * candidates, and one for each member of a group, with four more for the group. While it has no session it keeps the state that it read
 * last.
 */
export class Overview extends ReportingEmitter<OverviewEvents> {
  readonly root: string;
  readonly #options: ReturnType<typeof resolveOverviewOptions>;
  readonly #model: OverviewModel;
  readonly #serverClock = new ServerClock();
  readonly #stop = new AbortController();
  readonly #started: Deferred<void> = deferred();
  #state: State = { name: 'idle' };
  #running: Promise<void> = Promise.resolve();
  #attending = 0;
  #hasStarted = false;
  #timer: Timer | undefined;
  #batchedAtMs = Number.NEGATIVE_INFINITY;

  /**
   * @param session - a session, which is left open; a connect string, or a function that gives one; or a supervisor
   * @throws InvalidOptionError if the session or an option is wrong
   */
  constructor(
    session: Session | SessionSource | string | (() => string | Promise<string>),
    options?: OverviewOptions,
  ) {
    super();
    this.#options = resolveOverviewOptions(session, options, (error) => this.report(error));
    const { root, clock } = this.#options;
    this.root = root;
    this.#model = new OverviewModel({
      now: () => clock.date().getTime(),
      onDirty: () => this.#batchSoon(),
      onReadAll: () => {
        this.#hasStarted = true;
        this.#started.resolve();
      },
      onFailed: (error) => {
        if (this.#state.name === 'reading') this.#state.reading.fail(error);
      },
    });
  }

  /** The state that was read last. Empty before `start` has resolved. */
  get state(): OverviewState {
    return this.#model.state;
  }

  /** The session that reads, if a server serves it. */
  get session(): Session | undefined {
    if (this.#state.name !== 'reading') return undefined;
    const { session } = this.#state.reading;
    return session.state.name === 'connected' ? session : undefined;
  }

  /**
   * Begins to read. Resolves when everything was read once, also if there is no such root. With a connect string or a supervisor it waits
   * for a session, however long that takes. A second call returns the promise of the first one.
   *
   * @throws InvalidStateError if it was stopped, before or meanwhile, or its supervisor was
   * @throws SessionExpiredError, SessionClosedError if the session that you gave ends before
   * @throws AuthenticationError if the servers refuse the credentials: the overview has stopped then
   * @throws the reason of `options.signal` if that signal aborts before
   */
  start(options?: StartOptions): Promise<void> {
    return start(options, { begin: () => this.#start(), stop: () => this.stop() });
  }

  #start(): Promise<void> {
    if (this.#state.name === 'stopped')
      return Promise.reject(new InvalidStateError('the overview has stopped: create a new one'));
    if (this.#state.name === 'idle') {
      this.#become({ name: 'waiting' });
      this.#running = this.#run();
    }
    return this.#started.promise;
  }

  /**
   * Stops reading. It still reports the changes until now, and emits no event after that. Resolves when its own sessions are closed, after
   * 2 s at most. Never rejects.
   */
  async stop(): Promise<void> {
    markStopped(this.#started.promise);
    this.#end(new InvalidStateError('the overview was stopped before its first read'));
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Makes the overview read each leader's heartbeats, twice in a lease, and ask the servers for their roles, every 5 s. It does so as long
   * as at least one caller attends, and once for all callers. @returns a function that ends it for this caller
   */
  attend(): () => void {
    this.#attending++;
    if (this.#attending === 1 && this.#state.name === 'reading') this.#state.reading.attend(true);
    let isAttending = true;
    return () => {
      if (!isAttending) return;
      isAttending = false;
      this.#attending--;
      if (this.#attending === 0 && this.#state.name === 'reading') this.#state.reading.attend(false);
    };
  }

  /** Reads with one session after the other. Never rejects. */
  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const history = new EnsembleHistory();
    let former: Session | undefined;
    try {
      for (;;) {
        const session = await this.#options.source.session(signal);
        if (session === former) throw session.ended.reason; // No other session follows.
        former = session;
        // By then a server that was behind has caught up, so the overview shows nothing older than the session before did.
        const reset = await abortable(history.follow(session), signal);
        if (reset !== undefined) this.report(reset);
        await this.#readWith(session);
      }
    } catch (error) {
      this.#finish(error);
    }
    await this.#options.close();
  }

  /** Resolves when the session has ended. @throws the reason of the stop */
  async #readWith(session: Session): Promise<void> {
    const { signal } = this.#stop;
    const ended = AbortSignal.any([session.signal, signal]);
    for (let failedAttempts = 1; !ended.aborted; failedAttempts++) {
      const reading = new SessionReading(session, this.root, this.#model, this.#serverClock);
      this.#become({ name: 'reading', reading });
      if (this.#attending > 0) reading.attend(true);
      try {
        await reading.run(ended);
      } catch (error) {
        this.#become({ name: 'waiting' });
        if (ended.aborted) break;
        this.report(error);
        const pauseMs = jitteredPauseMs(failedAttempts, session.environment.random());
        await sleep(session.clock, pauseMs, ended).catch(() => undefined); // Rejects only at the end, which the loop checks.
      }
    }
    this.#model.connected(false);
    signal.throwIfAborted();
  }

  #batchSoon(): void {
    const { clock } = this.#options;
    if (this.#timer !== undefined || this.#state.name === 'stopped') return;
    const pauseMs = Math.max(GATHER_MS, this.#batchedAtMs + BATCH_EVERY_MS - clock.now());
    this.#timer = clock.after(pauseMs, () => {
      this.#timer = undefined;
      this.#batchedAtMs = clock.now();
      this.#emitBatch();
    });
  }

  #emitBatch(): void {
    const change = this.#model.takeBatch();
    if (change !== undefined) this.emit('change', change);
  }

  /** Called when there is no session any more, or none that can be used. */
  #finish(reason: unknown): void {
    // Before the first read `start` rejects. The session or the supervisor reports an orderly end itself.
    const orderly = [SessionExpiredError, SessionClosedError, InvalidStateError];
    if (this.#hasStarted && !orderly.some((type) => reason instanceof type)) this.report(reason);
    this.#model.connected(false);
    this.#end(reason);
  }

  #end(reason: unknown): void {
    this.#started.reject(reason);
    if (this.#state.name !== 'stopped') this.#emitBatch();
    this.#become({ name: 'stopped' });
    this.#timer?.clear();
    this.#stop.abort(reason);
  }

  /** The only place that writes the state. */
  #become(next: State): void {
    if (this.#state.name !== 'stopped') this.#state = next;
  }

  /** @internal */
  protected override get reporting(): Reporting<OverviewEvents> {
    return {
      events: OVERVIEW_EVENTS,
      logger: this.#options.logger,
      message: 'something went wrong in the overview',
    };
  }
}

showAs(Overview, ({ root }) => ({ root }));
