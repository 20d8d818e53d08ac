import { mark } from '../../classes/copies.js';
import { showAs } from '../../classes/inspection.js';
import { LeaderElector } from '../../election/elector.js';
import { defaultId } from '../../election/elector-options.js';
import type { Candidate } from '../../election/nodes/candidate.js';
import { ElectionReader, leadersOf } from '../../election/nodes/election-reader.js';
import { isLoss } from '../../election/term/loss.js';
import type { Term } from '../../election/term/term.js';
import {
  AuthenticationError,
  CleanupFailedError,
  ConnectionLossError,
  ConnectTimeoutError,
  type DemotionReason,
  describe,
  InvalidOptionError,
  InvalidStateError,
  type ListenerError,
} from '../../errors.js';
import { onAbort } from '../../platform/async/lazy-abort.js';
import { abortable, type Deferred, deferred, ignore } from '../../platform/async/promises.js';
import { excuse, type StartOptions, start } from '../../platform/async/starting.js';
import { resolveStop, type StopOptions, Stopping } from '../../platform/async/stopping.js';
import { isWithin, runWithin, WorkContext } from '../../platform/async/work-context.js';
import { checkMetadata } from '../../platform/checks.js';
import type { Environment } from '../../platform/environment.js';
import { logError } from '../../platform/logging/logger.js';
import { backoffMs } from '../../platform/retry/backoff.js';
import { retrying } from '../../platform/retry/retrying.js';
import { type EventNames, SafeEmitter } from '../../platform/safe-emitter.js';
import { sleep } from '../../platform/time/clock.js';
import { Outage } from '../../session/connection/outage.js';
import { EnsembleHistory } from '../../session/ensemble-history.js';
import { Session } from '../../session/session.js';
import type { SessionSource } from '../../session/session-source.js';
import { registerWithGuardian } from '../guardian/guardian-link.js';
import { type Candidacy, type Loss, lossOf } from './candidacy.js';
import { callCleanup } from './cleanup.js';
import { cooldownAfter, countLostTerms } from './cooldown.js';
import { type Health, healthOf, holdUpOf, type SupervisorState } from './health.js';
import { askAnySession } from './next-session.js';
import { resolveShutdown, type ShutdownOptions, SignalShutdown } from './shutdown.js';
import { type ElectionSupervisorEvents, SUPERVISOR_EVENTS } from './supervisor-events.js';
import {
  type ElectionSupervisorOptions,
  type ResolvedSupervisorOptions,
  resolveSupervisorOptions,
} from './supervisor-options.js';

/** The reason with which `stop()` interrupts what the supervisor waits for. Never seen outside. */
class StopRequest extends Error {}

/**
 * Keeps one candidate standing in an election, over the end of any session: opens a session, stands, leads when it is
 * its turn; and when the session is lost, waits for the leader's work to settle, calls the application's clean-up hook,
 * and only when that has succeeded opens a new session and stands again.
 *
 * Guaranteed: no second candidacy begins before the hook has succeeded; a hook that never succeeds stops the supervisor;
 * after each `expired` it is called at least once before `stopped`, whenever the supervisor is stopped.
 * The order after a loss is: signal aborted, `demoted`, `expired`, the hook, `cleaned`, `restarting`, in time `elected`.
 *
 * @example
 * ```ts
 * const supervisor = new ElectionSupervisor({
 *   connect: 'zk1:2181,zk2:2181,zk3:2181',
 *   path: '/elections/scheduler',
 *   lead: (term) => runScheduler(term),
 *   cleanup: async ({ term }) => { await dropCaches(term); },
 * });
 * supervisor.on('error', (error) => console.error(error));
 * await supervisor.start();
 * ```
 */
export class ElectionSupervisor extends SafeEmitter<ElectionSupervisorEvents> implements SessionSource {
  /** What its candidates call themselves. */
  readonly id: string;
  readonly #options: ResolvedSupervisorOptions;
  readonly #stop = new AbortController();
  readonly #stopping: Stopping;
  readonly #started: Deferred<void> = deferred();
  /** Tells a call from inside the hook, which mustn't wait for the end of the hook. */
  readonly #cleaning = new WorkContext();
  /** Of all its sessions: they are opened one after the other as long as no server serves. */
  readonly #outage = new Outage();
  #state: SupervisorState = { name: 'idle' };
  /** Gives the clean-up that stays outstanding. */
  #running: Promise<CleanupFailedError | undefined> = Promise.resolve(undefined);
  readonly #history = new EnsembleHistory();
  /** The session that is open, or the next one. */
  #session: Deferred<Session> = deferred();
  /** Of the newest session: for so long a stop may take before anything is said. */
  #leaseMs = 0;
  /** What it tells the others about itself, once that was changed. */
  #data: string | Uint8Array | undefined;
  /** Terms that were lost in a row, and until when it therefore stays out of the election. */
  #losses = 0;
  #coolUntil = 0;
  #shutdown: SignalShutdown | undefined;
  /** What a shutdown does when the work has settled, once. Must not reject. */
  #beforeRelease: () => Promise<void> = async () => undefined;

  /** @throws InvalidOptionError if an option is wrong */
  constructor(options: ElectionSupervisorOptions) {
    super();
    this.#options = resolveSupervisorOptions(options);
    this.id = this.#options.id ?? defaultId(this.#options.environment.uuid());
    this.#stopping = new Stopping({
      clock: this.#options.environment.clock,
      graceMs: () => this.#leaseMs,
      holdUp: () => holdUpOf(this.#state),
      report: (error) => this.#report(error),
    });
    this.#session.promise.catch(ignore); // Whoever calls `session` sees it.
  }

  /** The election's path. */
  get path(): string {
    return this.#options.path;
  }

  /** @internal */
  get environment(): Environment {
    return this.#options.environment;
  }

  /** The term that this process leads, while it does. */
  get term(): Term | undefined {
    return this.#elector?.term;
  }

  /** Whether this process leads at this very moment: `term.isHeld()` of the term that it leads, if it does. */
  get isLeader(): boolean {
    return this.term?.isHeld() ?? false;
  }

  /** How it is doing, at this very moment. */
  health(): Health {
    const { clock } = this.#options.environment;
    return healthOf(this.#state, { now: clock.now(), coolUntil: this.#coolUntil });
  }

  /**
   * The session that is open, or else the next one as soon as there is one: for what is to live as long as the
   * supervisor does, an `ElectionObserver` say. It remains the supervisor's: don't close it.
   *
   * @throws InvalidStateError if the supervisor has stopped, or does before it has a session; or the signal's reason
   */
  async session(signal?: AbortSignal): Promise<Session> {
    return await abortable(this.#session.promise, signal);
  }

  /**
   * The candidates, in the order in which they will lead. What they tell of themselves may be a moment old. Waits for a session
   * as {@link ElectionSupervisor.session} does, and for the next one if that ends before it has answered.
   *
   * @throws InvalidStateError if the supervisor has stopped, or does before
   * @throws ZooKeeperError if a server refuses, or the signal's reason
   */
  candidates(signal?: AbortSignal): Promise<Candidate[]> {
    return askAnySession(this, signal, (session) => new ElectionReader(session, this.path).candidates());
  }

  /**
   * Who holds the current term, by the record; `undefined` if nobody does. It may have changed since. With several seats
   * the leader of the first one that is taken. Waits, and throws, as {@link ElectionSupervisor.candidates} does.
   */
  async leader(signal?: AbortSignal): Promise<Candidate | undefined> {
    return (await this.leaders(signal)).find((leader) => leader !== undefined);
  }

  /** Who leads on each seat, from seat 0, as {@link ElectionSupervisor.leader} tells it of one. */
  leaders(signal?: AbortSignal): Promise<(Candidate | undefined)[]> {
    const { seats = 1 } = this.#options.candidacy;
    return askAnySession(this, signal, (session) => leadersOf(session, this.path, seats));
  }

  /**
   * Changes what the others see of it, now and in every later candidacy, without another election. Resolves when the servers
   * have it, or at once where it has no session: then its next node is created with it.
   *
   * @throws InvalidOptionError if it isn't a string or bytes, or is over 16 KiB
   * @throws InvalidStateError if the supervisor has stopped
   * @throws ZooKeeperError if a server refuses; it is in later candidacies all the same
   */
  async advertise(data: string | Uint8Array): Promise<void> {
    if (checkMetadata('data', data) === undefined)
      throw new InvalidOptionError('data', data, 'a string or a Uint8Array');
    if (this.#state.name === 'stopped') throw new InvalidStateError('the supervisor has stopped');
    this.#data = data;
    if (!('elector' in this.#state)) return;
    const { elector, session } = this.#state;
    try {
      await elector.advertise(data);
    } catch (error) {
      // That candidacy is over: the next one begins with it.
      if (!session.ended.aborted && elector.state.name !== 'stopped') throw error;
    }
  }

  /**
   * Begins. Resolves once it has a place in the queue, however long it takes until a server appears; a second call
   * gives the first one's promise. That it rejects has to be handled, as of any promise; not if the supervisor was stopped.
   *
   * @throws InvalidOptionError if an option is wrong, or the reason of `options.signal` if that aborts before
   * @throws InvalidStateError if it was stopped, before or meanwhile
   * @throws AuthenticationError if the servers refuse the credentials: it stops then
   * @throws the last error if `retry.retries` is finite and no try succeeded
   */
  start(options?: StartOptions): Promise<void> {
    return start(options, { begin: () => this.#start(), stop: () => this.stop() });
  }

  #start(): Promise<void> {
    if (this.#state.name === 'stopped')
      return Promise.reject(new InvalidStateError('the supervisor has stopped: make a new one'));
    if (this.#state.name === 'idle') this.#running = this.#run();
    return this.#started.promise;
  }

  /**
   * Ends its term cleanly and goes to the back of the queue; see `LeaderElector.resign`. Does nothing unless it leads.
   *
   * @throws SessionExpiredError if the session ends before
   */
  async resign(): Promise<void> {
    if (!this.#isWithinHook()) await this.#elector?.resign();
  }

  /**
   * Ends its term cleanly in favour of another candidate; see `LeaderElector.handOver`.
   *
   * @throws InvalidStateError unless it leads
   * @throws NoCandidateError if there is no such candidate; the term goes on
   * @throws SessionExpiredError if the session ends before
   */
  async handOver(candidate: string): Promise<void> {
    if (this.#elector === undefined) throw new InvalidStateError('only a leader can hand over');
    await this.#elector.handOver(candidate);
  }

  /**
   * Leaves for good: the leader's work settles, the term is given back, the session is closed. If a session was lost before,
   * the hook is called when the work has settled; see the option `cleanup`. Resolves when all that is done, with no server in
   * reach after one lease and 2 s at most beyond what the work and the hook take; called from inside the leader's work, as
   * soon as the term's signal has aborted, and from inside the hook at once.
   *
   * The work is waited for as long as it takes. Until then the session is kept and nothing is given back, since it may still be
   * acting. When that takes longer than a lease, `error` says so once, and `health()` isn't live any more. A call that rejects
   * for its `timeoutMs` has asked for the end all the same: end the process then, or call again to wait on.
   *
   * @throws StopPendingError if it isn't done within `options.timeoutMs`; says what still runs
   * @throws InvalidOptionError if an option is wrong: it isn't stopped then
   */
  async stop(options?: StopOptions): Promise<void> {
    const timeoutMs = resolveStop(options);
    const left = this.#leave();
    this.#stopping.watch();
    await this.#stopping.wait(left, timeoutMs);
  }

  /** Never rejects. */
  async #leave(): Promise<void> {
    if (!this.#stop.signal.aborted) {
      excuse(this.#started.promise);
      this.#stopping.begin();
      this.#stop.abort(new StopRequest());
      if (this.#state.name === 'idle') this.#finish();
    }
    if (this.#isWithinHook()) return;
    const elector = this.#elector;
    await elector?.withdraw();
    // It didn't wait, so it is its own work that asks: that mustn't wait for its own end here either.
    if (elector?.state.name === 'ending') return;
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Ends the process in good order at the first of these signals: the leader's work stops and settles, `options.cleanup`
   * runs, the term is given back, the session is closed, the process exits with `options.exitCode`. Otherwise than by
   * this method Conclave handles no signal.
   *
   * It exits with 1 if `cleanup` has failed, or the supervisor's own after a loss; with 124 when `options.deadlineMs` is
   * over, after a line on stderr that says what was still running; with 128 and the signal's number, at once, at a second
   * signal (the same one within 100 ms counts as one: `npm` hands Ctrl-C on to a process that has had it from the terminal;
   * where a guardian looks after this process it always does: the parent that tells again may kill). In the latter two
   * cases nothing is given back, since what hangs may still be acting: a successor waits as after a kill. The deadline can't
   * end a process whose main thread is blocked: see the option `watchdog`.
   *
   * When the supervisor has stopped for another reason it doesn't listen any more.
   *
   * @param signals - names, as `['SIGTERM', 'SIGINT']`
   * @returns what takes it back, as long as no signal has come
   * @throws InvalidOptionError if a signal or an option is wrong
   * @throws InvalidStateError if the supervisor has stopped, or was told so before and that wasn't taken back
   */
  shutdownOn(signals: readonly NodeJS.Signals[], options?: ShutdownOptions): () => void {
    const resolved = resolveShutdown(signals, options);
    if (this.#state.name === 'stopped') throw new InvalidStateError('the supervisor has stopped');
    if (this.#shutdown?.isDisarmed === false)
      throw new InvalidStateError('the supervisor was told before which signals to shut down on');
    const { environment, logger } = this.#options;
    const state = () => this.#state;
    const shutdown = new SignalShutdown(resolved, {
      clock: environment.clock,
      logger,
      get state() {
        return state();
      },
      leave: (cleanUp) => this.#leaveAfter(cleanUp),
    });
    this.#shutdown = shutdown;
    return () => shutdown.disarm();
  }

  #leaveAfter(beforeRelease: () => Promise<void>): Promise<Error | undefined> {
    this.#beforeRelease = beforeRelease;
    void this.stop(); // Without a time it doesn't reject.
    return this.#running; // Itself: the process is to end before a `start()` that rejects does.
  }

  // ---- the supervisor's life, one paragraph ----

  /** Stands; and after each loss cleans up and stands again. Gives the clean-up that stays outstanding. Never rejects. */
  async #run(): Promise<CleanupFailedError | undefined> {
    let end: unknown;
    try {
      for (;;) {
        const candidacy = await this.#stand();
        this.#started.resolve();
        await this.#untilLost(candidacy);
        const loss = await this.#settle(candidacy);
        if (loss === undefined || (await this.#cleanUp(loss)) === 'stop') break;
      }
    } catch (error) {
      end = error instanceof StopRequest ? new InvalidStateError('stopped before it had a place') : error;
      if (!(error instanceof StopRequest)) this.#report(error);
    }
    await this.#beforeRelease(); // Unless it was done already. Before `start` rejects, which may well end the process.
    this.#started.reject(end);
    this.#finish();
    return end instanceof CleanupFailedError ? end : undefined;
  }

  /** Opens a session and takes a place in the queue; tries again, with back-off, when that fails. */
  async #stand(): Promise<Candidacy> {
    const { retry, environment } = this.#options;
    const sinceMs = environment.clock.now();
    if (this.#state.name !== 'idle') await this.#coolDown();
    const tryToStand = (attempt: number) => this.#tryToStand({ name: 'connecting', attempt, sinceMs });
    return await retrying(tryToStand, retry.retries, async ({ error, attempt, retriesLeft }) => {
      if (error instanceof CleanupFailedError || error instanceof StopRequest) throw error;
      this.#stop.signal.throwIfAborted();
      this.#options.logger.info({ attempt, cause: describe(error) }, 'could not stand for election');
      if (error instanceof AuthenticationError) throw error; // Trying again won't make the credentials right.
      // A session that finds no server has said so, as often as is good for whoever reads it.
      const unreachable = error instanceof ConnectTimeoutError || error instanceof ConnectionLossError;
      if (!unreachable && retriesLeft > 0) this.#report(error);
      if (retriesLeft <= 0) return;
      const delayMs = backoffMs(attempt, retry, environment.random());
      this.emit('restarting', { attempt: attempt + 1, delayMs });
      await sleep(environment.clock, delayMs, this.#stop.signal);
    });
  }

  async #coolDown(): Promise<void> {
    this.#stop.signal.throwIfAborted();
    const { clock } = this.#options.environment;
    this.#become({ name: 'cooling' });
    const delayMs = Math.max(0, this.#coolUntil - clock.now());
    this.emit('restarting', { attempt: 1, delayMs });
    if (delayMs > 0) await sleep(clock, delayMs, this.#stop.signal);
  }

  async #tryToStand(connecting: SupervisorState): Promise<Candidacy> {
    this.#become(connecting);
    const session = await Session.open(
      this.#options.connect,
      { ...this.#options.sessionOptions, signal: this.#stop.signal },
      { onError: (error) => this.#report(error), outage: this.#outage },
    );
    this.#leaseMs = session.leaseMs;
    this.#lend(session);
    const elector = new LeaderElector(session, this.#options.path, {
      ...this.#options.candidacy,
      ...(this.#data !== undefined && { data: this.#data }),
      logger: this.#options.logger,
      id: this.id,
    });
    if (this.#options.guardian) registerWithGuardian(session, elector);
    const candidacy: Candidacy = { session, elector, lost: undefined, isSpent: false };
    this.#relay(candidacy);
    // With nothing left to give back, a shutdown's clean-up comes after that of the loss.
    elector.beforeRelease(async () => {
      if (lossOf(candidacy) === undefined) await this.#beforeRelease();
    });
    this.#become({ name: 'standing', elector, session });
    try {
      const reset = await abortable(this.#history.follow(session), this.#stop.signal);
      if (reset !== undefined) this.#report(reset);
      this.#stop.signal.throwIfAborted();
      await elector.start();
      return candidacy;
    } catch (error) {
      const loss = await this.#settle(candidacy);
      // It had no place, but others may have used the session.
      if (loss?.reason === 'session-expired' && (await this.#cleanUp(loss)) === 'stop')
        throw new StopRequest();
      this.#stop.signal.throwIfAborted();
      throw error;
    }
  }

  #lend(session: Session): void {
    this.#session.resolve(session);
    onAbort(session.ended, () => {
      this.#session = deferred();
      this.#session.promise.catch(ignore); // As in the constructor.
    });
  }

  #relay(candidacy: Candidacy): void {
    const { clock } = this.#options.environment;
    let electedAt = 0;
    candidacy.elector
      .on('waiting', (place) => {
        candidacy.lost = undefined;
        this.emit('waiting', place);
      })
      .on('elected', (term) => {
        candidacy.lost = undefined;
        electedAt = clock.now();
        this.emit('elected', term);
      })
      .on('demoted', (term, reason) => {
        // Often the lease ends before the session is known to have: that is the same loss. The end of a session that was
        // closed by others than this supervisor is `stopped`.
        if (isLoss(reason) || reason === 'stopped') candidacy.lost = term;
        this.#noteEnd(candidacy, reason, clock.now() - electedAt);
        this.emit('demoted', term, reason);
      })
      .on('expired', () => void this.emit('expired'))
      .on('error', (error) => this.#report(error));
  }

  /** One that loses its terms again and again lets others come first. */
  #noteEnd({ elector, session }: Candidacy, reason: DemotionReason, lastedMs: number): void {
    const { cooldownMs, environment, logger } = this.#options;
    const { sessionTimeoutMs } = session;
    this.#losses = countLostTerms(this.#losses, { reason, lastedMs, sessionTimeoutMs });
    const ms = cooldownAfter(this.#losses, cooldownMs, environment.random());
    if (ms > 0) logger.warn({ losses: this.#losses, cooldownMs: ms }, 'lost its term: cooling down');
    this.#coolUntil = environment.clock.now() + ms;
    elector.standAgainAt(this.#coolUntil);
  }

  /** Until the session is over, or its elector has stopped by itself: the election isn't the one that it was told of. */
  async #untilLost(candidacy: Candidacy): Promise<void> {
    const { session, elector } = candidacy;
    const over = deferred();
    const forget = [onAbort(session.ended, over.resolve), onAbort(this.#stop.signal, over.resolve)];
    elector.once('stopped', over.resolve);
    if (elector.state.name !== 'stopped') await over.promise;
    elector.off('stopped', over.resolve);
    for (const each of forget) each();
    candidacy.isSpent = !this.#stop.signal.aborted;
  }

  /**
   * Whatever ended the candidacy: its work has settled, and its session is closed, before anything else happens. Gives what
   * was lost with it.
   */
  async #settle(candidacy: Candidacy): Promise<Loss | undefined> {
    const { session, elector } = candidacy;
    this.#become({ name: 'settling', elector, session });
    await elector.withdraw();
    if (this.#stop.signal.aborted && lossOf(candidacy) === undefined) await this.#beforeRelease(); // If it didn't lead.
    const loss = lossOf(candidacy); // That may have taken its time.
    await session.close();
    return loss;
  }

  async #cleanUp(loss: Loss): Promise<'restart' | 'stop'> {
    const { cleanup, cleanupTimeoutMs, cleanupRetry, environment } = this.#options;
    this.#become({ name: 'cleaning', attempt: 1 });
    if (cleanup === undefined) return 'restart';
    const decision = await callCleanup({
      hook: (told) => {
        this.#become({ name: 'cleaning', attempt: told.attempt });
        return runWithin(this.#cleaning, () => cleanup(told));
      },
      loss,
      timeoutMs: cleanupTimeoutMs,
      policy: cleanupRetry,
      environment,
      onFailure: (error) => this.#report(error),
      stop: this.#stop.signal,
    });
    this.emit('cleaned');
    return decision;
  }

  /** The last word, whatever led to it. */
  #finish(): void {
    this.#started.reject(new InvalidStateError('stopped before it had a place')); // If it never had one.
    this.#session.reject(new InvalidStateError('the supervisor has stopped'));
    this.#become({ name: 'stopped' });
    this.#stopping.end();
    this.#cleaning.finish();
    this.#shutdown?.disarm();
    this.emit('stopped');
  }

  /** A call from inside a hook mustn't wait for the end of that hook. */
  #isWithinHook(): boolean {
    // A hook that has gone on past its time, through another loss perhaps, is still one.
    const isCleaning = this.#state.name === 'cleaning' && isWithin(this.#cleaning);
    return isCleaning || (this.#shutdown !== undefined && isWithin(this.#shutdown.cleaning));
  }

  get #elector(): LeaderElector | undefined {
    return 'elector' in this.#state ? this.#state.elector : undefined;
  }

  /** The only place that writes the state. */
  #become(next: SupervisorState): void {
    this.#state = next;
  }

  #report(thrown: unknown): void {
    const error = thrown instanceof Error ? thrown : new Error(describe(thrown));
    logError(this.#options.logger, error, 'something went wrong in the supervisor', this);
    this.emit('error', error);
  }

  /** @internal */
  protected override get knownEvents(): EventNames<ElectionSupervisorEvents> {
    return SUPERVISOR_EVENTS;
  }

  protected override reportListenerError(error: ListenerError): void {
    if (error.event === 'error') this.#options.logger.error({ cause: describe(error) }, 'a listener failed');
    else this.#report(error);
  }
}

mark(ElectionSupervisor, 'ElectionSupervisor');
showAs(ElectionSupervisor, ({ id, path, term }) => ({ id, path, ...(term && { term }) }));
