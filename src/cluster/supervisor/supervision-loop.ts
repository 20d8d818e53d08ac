import { LostTermBackoff } from '../../election/lost-term-backoff.js';
import {
  AuthenticationError,
  CleanupFailedError,
  ConnectionLossError,
  ConnectTimeoutError,
  describe,
  InvalidOptionError,
  InvalidStateError,
  type StopWait,
  UnprotectedPathError,
  UnreadableNodeError,
} from '../../errors.js';
import { deferred } from '../../platform/async/promises.js';
import { markStopped } from '../../platform/async/start-with-signal.js';
import { resolveStop, type StopOptions, StopWithTimeout } from '../../platform/async/stop-with-timeout.js';
import { isWithin, runWithin, WorkContext } from '../../platform/async/work-context.js';
import { backoffMs } from '../../platform/retry/backoff.js';
import { type Failure, retrying } from '../../platform/retry/retry.js';
import { sleep } from '../../platform/time/clock.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { Session } from '../../session/session.js';
import { callCleanup, type EndedAttempt } from './cleanup-hook.js';
import type { Restart } from './election-supervisor-events.js';
import { type ResolvedShutdown, type ShutdownPort, SignalShutdown } from './signal-shutdown.js';
import type { LoopOptions } from './supervision-loop-options.js';
import { SupervisorSessions } from './supervisor-sessions.js';
import type { Loss, Participation, SupervisorState } from './supervisor-state.js';

/** The reason with which a stop interrupts what the loop waits for. Never seen outside. */
class StopRequest extends Error {}

export interface LoopPort<P> {
  /** Prepares to take part with a session. Takes part in nothing yet. */
  participate(session: Session): P;
  /** Its work has settled, and its session is about to be closed. */
  onSettled?(participation: P): void;
  /** Whether another attempt can't succeed, at the start or later. */
  isFinal?(error: unknown): boolean;
  onCleaned(): void;
  /** A call of the clean-up hook has ended. */
  onHookCalled(attempt: EndedAttempt): void;
  onRestarting(restart: Restart): void;
  readonly report: (thrown: unknown) => void;
  /** The reason why the end of a participation isn't done yet. */
  holdUpOf(participation: P): StopWait;
  /** How much longer than a lease a stop may take without a report, in milliseconds. */
  graceMs?(): number;
  onStopped(): void; // The loop has ended: nothing of it runs any more. Called once.
}

/**
 * One participation after another, each with its own session: connect, take part; when it has ended, settle, clean up, repeat. Until it is
 * stopped, by a call or by a signal.
 */
export class SupervisionLoop<L extends Loss, P extends Participation<L>> {
  readonly sessions: SupervisorSessions;
  /** It outlasts participations. A loss counts for it. */
  readonly backoff: LostTermBackoff;
  readonly #options: LoopOptions<L>;
  readonly #port: LoopPort<P>;
  readonly #stop = new AbortController();
  readonly #stopping: StopWithTimeout;
  readonly #started = deferred();
  readonly #cleaning = new WorkContext(); // Of the clean-up hook: a call from inside it mustn't wait for its end.
  #state: SupervisorState<P> = { name: 'idle' };
  #ended: Promise<CleanupFailedError | undefined> = Promise.resolve(undefined);
  #reportedBySession: unknown;
  #shutdown: SignalShutdown | undefined;

  constructor(options: LoopOptions<L>, port: LoopPort<P>) {
    this.#options = options;
    this.#port = port;
    this.backoff = new LostTermBackoff(options.environment, options.logger);
    this.sessions = new SupervisorSessions(options, (error) => {
      this.#reportedBySession = error;
      port.report(error);
    });
    this.#stopping = new StopWithTimeout({
      clock: options.environment.clock,
      graceMs: () => this.sessions.leaseMs + (port.graceMs?.() ?? 0),
      holdUp: () => this.holdUp,
      report: port.report,
    });
  }

  get state(): SupervisorState<P> {
    return this.#state;
  }

  /** The participation that is under way. */
  get participation(): P | undefined {
    return 'participation' in this.#state ? this.#state.participation : undefined;
  }

  /** The reason why its stop isn't done yet. */
  get holdUp(): StopWait {
    const state = this.#state;
    if (state.name === 'cleaning')
      return { by: 'cleanup', what: `attempt ${state.attempt} of the clean-up hook still runs` };
    if ('participation' in state) return this.#port.holdUpOf(state.participation);
    return { by: 'servers', what: 'the search for a server still has to end' };
  }

  /**
   * Whether the caller is a hook, also that of a shutdown: it mustn't wait for its own end. That includes a hook that outlasted its time and
   * still runs during the clean-up of a later loss.
   */
  get isWithinHook(): boolean {
    const isCleaning = this.#state.name === 'cleaning' && isWithin(this.#cleaning);
    return isCleaning || this.#shutdown?.isWithinHook === true;
  }

  /**
   * Resolves when the loop has ended, with the clean-up that is still outstanding; at once if the loop was never started. Never rejects.
   */
  get ended(): Promise<CleanupFailedError | undefined> {
    return this.#ended;
  }

  /** Resolves once it has a place in the queue. @see `ElectionSupervisor.start` */
  start(): Promise<void> {
    if (this.#state.name === 'stopped')
      return Promise.reject(new InvalidStateError('the supervisor has stopped: create a new one'));
    if (this.#state.name === 'idle') this.#ended = this.#run();
    return this.#started.promise;
  }

  /** Interrupts what the loop waits for, except for work and hooks. */
  stop(): void {
    if (this.#stop.signal.aborted) return;
    markStopped(this.#started.promise);
    this.#stop.abort(new StopRequest());
    if (this.#state.name === 'idle') this.#finish();
  }

  /** Waits for `leave`, which must not reject. @see `ElectionSupervisor.stop` */
  async end(leave: () => Promise<void>, options: StopOptions | undefined): Promise<void> {
    const timeoutMs = resolveStop(options);
    this.#stopping.begin();
    const left = leave();
    this.#stopping.watch();
    await this.#stopping.wait(left, timeoutMs);
  }

  /** @param port.stop - doesn't reject @see `ElectionSupervisor.shutdownOn` */
  shutdownOn<Held extends object>(
    options: ResolvedShutdown,
    port: Pick<ShutdownPort<Held>, 'held' | 'whatIsLeft'> & { stop(): Promise<void> },
  ): () => void {
    if (this.#state.name === 'stopped') throw new InvalidStateError('the supervisor has stopped');
    if (this.#shutdown?.isDisarmed === false)
      throw new InvalidStateError('shutdownOn was already called on this supervisor');
    const { environment, logger } = this.#options;
    const leave = () => {
      void port.stop();
      return this.#ended; // And not `stop()`: the process has to exit before a rejection of `start()` may end it.
    };
    const shutdown = new SignalShutdown<Held>(options, { ...port, clock: environment.clock, logger, leave });
    this.#shutdown = shutdown;
    return () => shutdown.disarm();
  }

  /** Called when all work has settled, before anything is given back: runs the clean-up of a shutdown. Never rejects. */
  beforeRelease(): Promise<void> | undefined {
    return this.#shutdown?.cleanUp();
  }

  /** Takes part. After each loss it cleans up and takes part again. Returns the clean-up that is still outstanding. Never rejects. */
  async #run(): Promise<CleanupFailedError | undefined> {
    let end: unknown;
    try {
      for (let isFirst = true; ; isFirst = false) {
        const participation = await this.#participate(isFirst);
        this.#started.resolve();
        await participation.untilEnded(this.#stop.signal);
        const loss = await this.#settle(participation);
        if (loss === undefined || (await this.#cleanUp(loss)) === 'stop') break;
      }
    } catch (error) {
      end = error instanceof StopRequest ? new InvalidStateError('stopped before it had a place') : error;
      // From its second connection on, a session itself reports the error that ends it.
      if (!(error instanceof StopRequest) && error !== this.#reportedBySession) this.#port.report(error);
    }
    await this.beforeRelease(); // Unless it was done already. Before `start` rejects, which may well end the process.
    this.#started.reject(end);
    this.#finish();
    return end instanceof CleanupFailedError ? end : undefined;
  }

  /** Takes a place with a new session, after the cooldown. Tries again, with back-off, if that fails. */
  async #participate(isFirst: boolean): Promise<P> {
    const sinceMs = this.#options.environment.clock.now();
    if (!isFirst) await this.#coolDown();
    return await retrying(
      (attempt) => this.#tryToParticipate({ name: 'connecting', attempt, sinceMs }),
      this.#options.retry.retries,
      (failure) => this.#backOff(failure, { isFirst, sinceMs }),
    );
  }

  async #coolDown(): Promise<void> {
    this.#stop.signal.throwIfAborted();
    const { clock } = this.#options.environment;
    this.#become({ name: 'cooling' });
    const delayMs = Math.max(0, this.backoff.notBeforeMs - clock.now());
    this.#restarting({ attempt: 1, delayMs });
    if (delayMs > 0) await sleep(clock, delayMs, this.#stop.signal);
  }

  async #tryToParticipate(connecting: SupervisorState<P>): Promise<P> {
    this.#become(connecting);
    const session = await this.sessions.open(this.#stop.signal);
    this.sessions.lend(session);
    const participation = this.#port.participate(session);
    this.#become({ name: 'participating', participation });
    try {
      const reset = await this.sessions.compareWithEarlier(session, this.#stop.signal);
      if (reset !== undefined) this.#port.report(reset);
      this.#stop.signal.throwIfAborted();
      await participation.start();
      return participation;
    } catch (error) {
      const loss = await this.#settle(participation);
      // It had no place, but the application may have used the session.
      if (loss?.reason === 'session-expired' && (await this.#cleanUp(loss)) === 'stop')
        throw new StopRequest();
      this.#stop.signal.throwIfAborted();
      throw error;
    }
  }

  /** @throws what ends the attempts */
  async #backOff(
    { error, attempt, retriesLeft }: Failure,
    { isFirst, sinceMs }: { readonly isFirst: boolean; readonly sinceMs: number },
  ): Promise<void> {
    const { retry, environment, logger } = this.#options;
    if (error instanceof CleanupFailedError || error instanceof StopRequest) throw error;
    this.#stop.signal.throwIfAborted();
    logger.info({ attempt, err: error }, 'could not take part');
    if (this.#port.isFinal?.(error)) throw error;
    // Later, an operator who has changed the servers can change them back, and the process goes on without a restart.
    if (isFirst && needsPerson(error)) throw error;
    // A session that finds no server reports that itself, at intervals that don't flood the reader.
    const unreachable = error instanceof ConnectTimeoutError || error instanceof ConnectionLossError;
    if (!unreachable && retriesLeft > 0) this.#port.report(error);
    if (retriesLeft <= 0) return;
    const delayMs = backoffMs(attempt, retry, environment.random());
    const untilMs = environment.clock.now() + delayMs;
    if (unreachable) this.#become({ name: 'connecting', attempt, sinceMs });
    else this.#become({ name: 'pausing', untilMs, why: describe(error) });
    this.#restarting({ attempt: attempt + 1, delayMs });
    await sleep(environment.clock, delayMs, this.#stop.signal);
  }

  #restarting(restart: Restart): void {
    const { attempt, delayMs } = restart;
    this.#options.logger.info({ attempt, delayMs: Math.round(delayMs) }, 'restarting');
    this.#port.onRestarting(restart);
  }

  /** Lets the work settle and closes the session, before anything else happens. Returns the loss. */
  async #settle(participation: P): Promise<L | undefined> {
    this.#become({ name: 'settling', participation });
    await participation.withdraw();
    // If it held nothing, no release has called it.
    if (this.#stop.signal.aborted && participation.loss === undefined) await this.beforeRelease();
    const { loss } = participation; // Again: that may have taken its time.
    this.#port.onSettled?.(participation);
    await participation.session.close();
    return loss;
  }

  async #cleanUp(loss: L): Promise<'restart' | 'stop'> {
    const { cleanup, environment, logger } = this.#options;
    this.#become({ name: 'cleaning', attempt: 1 });
    if (cleanup === undefined) return 'restart';
    const beganAt = environment.clock.now();
    let attempts = 0;
    const decision = await callCleanup({
      ...this.#options,
      hook: async (known) => {
        attempts = known.attempt;
        this.#become({ name: 'cleaning', attempt: attempts });
        return await runWithin(this.#cleaning, () => cleanup(known));
      },
      loss,
      onFailure: this.#port.report,
      onAttempt: (attempt) => this.#port.onHookCalled(attempt),
      stop: this.#stop.signal,
    });
    const tookMs = Math.round(environment.clock.now() - beganAt);
    logger.info({ reason: loss.reason, attempts, tookMs }, 'cleaned');
    this.#port.onCleaned();
    return decision;
  }

  #finish(): void {
    this.#started.reject(new InvalidStateError('stopped before it had a place')); // Unless that has settled.
    this.sessions.end(new InvalidStateError('the supervisor has stopped'));
    this.#become({ name: 'stopped' });
    this.#cleaning.finish();
    this.#options.logger.info({}, 'stopped');
    this.#stopping.end();
    this.#shutdown?.disarm();
    this.#port.onStopped();
  }

  /** The only place that writes the state. */
  #become(next: SupervisorState<P>): void {
    this.#state = next;
  }
}

/** Whether only a person can cure what keeps a process from taking part: its options, or access lists on the servers. */
function needsPerson(error: unknown): boolean {
  return (
    error instanceof AuthenticationError || // Another attempt won't make the credentials right.
    error instanceof InvalidOptionError || // Of a function that has given a wrong value before any session was served.
    error instanceof UnprotectedPathError ||
    error instanceof UnreadableNodeError ||
    isNoAuth(error)
  );
}
