/** Imports more than 20 modules: most of them type its public methods. `supervision-loop.ts` has what they control. */

import { CandidateMemory } from '../../election/candidate-memory.js';
import type { Candidate } from '../../election/candidates/candidate.js';
import type { LeaderElector } from '../../election/leader-elector.js';
import { ElectionReader, readElection } from '../../election/record/election-reader.js';
import type { Term } from '../../election/term/term.js';
import { InvalidOptionError, InvalidStateError } from '../../errors.js';
import { type StartOptions, start } from '../../platform/async/start-with-signal.js';
import type { StopOptions } from '../../platform/async/stop-with-timeout.js';
import { checkMetadata } from '../../platform/checks.js';
import type { Environment } from '../../platform/injected-environment.js';
import { type Reporting, ReportingEmitter } from '../../platform/logging/reporting-emitter.js';
import { mark } from '../../public-class/instance-brand.js';
import { showAs } from '../../public-class/shown-in-console.js';
import type { Session } from '../../session/session.js';
import type { SessionSource } from '../../session/session-source.js';
import type { TermLoss } from './cleanup-hook.js';
import { type ElectionSupervisorEvents, SUPERVISOR_EVENTS } from './election-supervisor-events.js';
import {
  type ElectionSupervisorOptions,
  type ResolvedSupervisorOptions,
  resolveSupervisorOptions,
} from './election-supervisor-options.js';
import { type Health, healthOf } from './health.js';
import { resolveShutdown, SHUTDOWN_CHECKS, type ShutdownOptions } from './signal-shutdown.js';
import {
  type CandidacyPort,
  holdUpOfCandidacy,
  type OpenCandidacy,
  SupervisedElector,
  termOf,
  whatIsLeft,
} from './supervised-elector.js';
import { SupervisionLoop } from './supervision-loop.js';

/**
 * Keeps one candidate in an election, over the loss of any term and the end of any session. It opens a session, joins the queue,
 * and leads when it is its turn. When it has lost a term or its session, it waits until the leader's work has settled, closes the
 * session, and calls your clean-up hook. Only when that has succeeded does it open another session and join again.
 *
 * Guaranteed:
 * - no second candidacy begins before the hook has succeeded, and a hook that never succeeds stops the supervisor;
 * - after each lost term, and after each `expired`, the hook is called at least once before `stopped`, whenever you stop the supervisor;
 * - the order after a loss is: signal aborted, `demoted`, `expired` if the session has expired, the hook, `cleaned`, `restarting`,
 *   in time `elected`.
 *
 * A term is lost if it ended with `lease-expired`, `session-expired`, `node-deleted`, `superseded`, `record-overwritten` or `refused`. It is also lost if it ended
 * for another reason and its lease was over, or its node was gone, before its work had settled. If no server can be reached when a
 * lease ends, a supervisor that goes on first waits for a server, which says whether the session has expired as well.
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
export class ElectionSupervisor<T = undefined>
  extends ReportingEmitter<ElectionSupervisorEvents>
  implements SessionSource
{
  /** The name of its candidates. */
  readonly id: string;
  #options: ResolvedSupervisorOptions; // With the newest data that was advertised.
  readonly #loop: SupervisionLoop<TermLoss, SupervisedElector>;
  readonly #memory: CandidateMemory; // Of all its electors, one after the other.

  /** @throws InvalidOptionError if an option is wrong */
  constructor(options: ElectionSupervisorOptions<T>) {
    super();
    this.#options = resolveSupervisorOptions(options);
    this.id = this.#options.id;
    const report = (thrown: unknown) => this.report(thrown);
    const port: CandidacyPort = {
      emit: (event, ...args) => this.emit(event, ...args),
      report,
      beforeRelease: () => this.#loop.beforeRelease(),
    };
    this.#loop = new SupervisionLoop<TermLoss, SupervisedElector>(this.#options, {
      report,
      holdUpOf: holdUpOfCandidacy,
      graceMs: () => this.#options.candidacy.waitForPreparedMs ?? 0,
      participate: (session) => {
        const candidacy = new SupervisedElector(session, this.#options, this.#memory, port);
        this.note('candidacy', candidacy);
        return candidacy;
      },
      onCleaned: () => this.emit('cleaned'),
      onHookCalled: (attempt) => this.note('hook', attempt),
      onRestarting: (restart) => this.emit('restarting', restart),
      onStopped: () => this.emit('stopped'),
    });
    this.#memory = new CandidateMemory(this.#loop.backoff);
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

  /** Whether this process leads at this moment: `term.isHeld()` of its term, or `false` if it has none. */
  get isLeader(): boolean {
    return this.term?.isHeld() ?? false;
  }

  /** The supervisor's condition at this moment, for a health check. */
  health(): Health {
    const now = this.#options.environment.clock.now();
    return healthOf(this.#loop.state, { now, coolUntil: this.#loop.backoff.notBeforeMs });
  }

  /**
   * The session that is open, or else the next one as soon as there is one: for example for an `ElectionObserver` that should live as long
   * as the supervisor. It remains the supervisor's: don't close it.
   *
   * @throws InvalidStateError if the supervisor has stopped, or stops before it has a session; or the signal's reason
   */
  session(signal?: AbortSignal): Promise<Session> {
    return this.#loop.sessions.current(signal);
  }

  /**
   * The candidates, in the order in which they will lead, the leaders first. Their advertised data may be a moment old. Waits for a session
   * as {@link ElectionSupervisor.session} does, and for the next one if that ends before it has answered.
   *
   * @throws InvalidStateError if the supervisor has stopped, or does before
   * @throws ZooKeeperError if a server refuses, or the signal's reason
   */
  candidates(signal?: AbortSignal): Promise<Candidate[]> {
    const read = async (session: Session) => (await readElection(session, this.path)).candidates;
    return this.#loop.sessions.ask(signal, read);
  }

  /**
   * The holder of the current term, by the record; `undefined` if it is vacant. It may have changed since. Waits,
   * and throws, as {@link ElectionSupervisor.candidates} does.
   */
  leader(signal?: AbortSignal): Promise<Candidate | undefined> {
    return this.#loop.sessions.ask(signal, (session) => new ElectionReader(session, this.path).leader());
  }

  /**
   * Changes the data that others see of this candidate, now and in every later candidacy, without another election. Resolves
   * when the servers have it, or at once without a session: then the next node is created with it.
   *
   * @throws InvalidOptionError if it isn't a string or bytes, or is over 16 KiB
   * @throws InvalidStateError if the supervisor has stopped
   * @throws ZooKeeperError if a server refuses; later candidacies have the new data all the same
   */
  async advertise(data: string | Uint8Array): Promise<void> {
    if (checkMetadata('data', data) === undefined)
      throw new InvalidOptionError('data', data, 'a string or a Uint8Array');
    if (this.#loop.state.name === 'stopped') throw new InvalidStateError('the supervisor has stopped');
    this.#options = { ...this.#options, candidacy: { ...this.#options.candidacy, data } };
    const { participation } = this.#loop;
    if (participation === undefined) return;
    const { elector, session } = participation;
    try {
      await elector.advertise(data);
    } catch (error) {
      // When that candidacy has ended, the next one begins with the new data.
      if (!session.ended.aborted && elector.state.name !== 'stopped') throw error;
    }
  }

  /**
   * Resolves once the supervisor has a place in the queue, however long it takes until a server appears. A second call
   * returns the promise of the first. Handle its rejection, as with any promise. After `stop()` you needn't.
   *
   * @throws InvalidOptionError if an option is wrong, or the reason of `options.signal` if that aborts before
   * @throws InvalidStateError if it was stopped, before or meanwhile
   * @throws AuthenticationError if the servers refuse the credentials: the supervisor stops then
   * @throws the last error if `retry.retries` is finite and no attempt succeeded
   */
  start(options?: StartOptions): Promise<void> {
    return start(options, { begin: () => this.#loop.start(), stop: () => this.stop() });
  }

  /**
   * Ends the term cleanly, after a wait by `waitForPreparedMs`, and goes to the back of the queue; see `LeaderElector.resign`. Does nothing
   * unless it leads.
   *
   * @throws SessionExpiredError if the session ends before
   */
  async resign(): Promise<void> {
    if (!this.#loop.isWithinHook) await this.#elector?.resign();
  }

  /**
   * Ends the term cleanly in favour of another candidate; see `LeaderElector.handOver`.
   *
   * @throws InvalidStateError unless it leads
   * @throws NoCandidateError if there is no such candidate; the term goes on
   * @throws SessionExpiredError if the session ends before
   */
  async handOver(candidate: string): Promise<void> {
    const elector = this.#elector;
    if (elector === undefined) throw new InvalidStateError('only a leader can hand over');
    await elector.handOver(candidate);
  }

  /**
   * Leaves the election for good: the leader's work settles, the term is released, the session is closed. If a term or a session
   * is lost by then, the hook is called when the work has settled; see the option `cleanup`. Resolves when all of that is done. If no
   * server can be reached, that takes one lease and 2 s at most, and what the work and the hook take. Called from inside the
   * leader's work, it resolves as soon as the term's signal has aborted; from inside the hook, at once.
   *
   * It waits for the work as long as that takes. Until then the session is kept and nothing is released, because the work may still act.
   * When that takes longer than a lease and `waitForPreparedMs`, `error` reports it once, and `health()` is no longer live. If the call
   * rejects for its `timeoutMs`, the stop goes on: end the process, or call again to wait for it.
   *
   * @throws StopPendingError if the stop isn't done within `options.timeoutMs`; says what still runs
   * @throws InvalidOptionError if an option is wrong: then nothing is stopped
   */
  async stop(options?: StopOptions): Promise<void> {
    await this.#loop.end(() => this.#leave(), options);
  }

  /** Never rejects. */
  async #leave(): Promise<void> {
    this.#loop.stop();
    if (this.#loop.isWithinHook) return;
    const elector = this.#elector;
    await elector?.withdraw();
    // It didn't wait: so the caller is the leader's own work, which mustn't wait here for its own end either.
    if (elector?.state.name === 'ending') return;
    await this.#loop.ended;
  }

  /** Stops it, for `await using`: the same as `stop()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Ends the process in good order at the first of these signals: the leader's work stops and settles, `options.cleanup` runs, the term is
   * given back, the session is closed, the process exits with `options.exitCode`. Without a call of this method Conclave handles no signal.
   *
   * The process exits with
   * - 1 if `cleanup` has failed, or the supervisor's own clean-up after a loss;
   * - 124 when `options.deadlineMs` is over, after a line on stderr that says what was still running;
   * - 128 and the signal's number, at once, at a second signal. The same signal within 100 ms isn't a second one, since `npm`
   *   hands Ctrl-C on to a process that has had it from the terminal. Under a guardian the same signal never is: the parent
   *   may send it again, and would kill a process that doesn't end.
   *
   * In the latter two cases nothing is given back, since what hangs may still act: a successor waits as after a kill. The
   * deadline can't end a process whose main thread is blocked: see the option `watchdog`.
   *
   * When the supervisor has stopped for another reason, it no longer handles the signals.
   *
   * @param signals - names, as `['SIGTERM', 'SIGINT']`
   * @returns a function that cancels it, as long as no signal has come
   * @throws InvalidOptionError if a signal or an option is wrong
   * @throws InvalidStateError if the supervisor has stopped, or this was called before and not cancelled; and in a worker thread, which
   *   gets no signals
   */
  shutdownOn(signals: readonly NodeJS.Signals[], options?: ShutdownOptions): () => void {
    return this.#loop.shutdownOn(resolveShutdown(signals, options, SHUTDOWN_CHECKS), {
      held: () => ({ term: termOf(this.#loop.state) }),
      whatIsLeft: (progress) => whatIsLeft(progress, this.#loop.state),
      stop: () => this.stop(),
    });
  }

  /** @internal What it takes part with now. */
  get candidacy(): OpenCandidacy | undefined {
    return this.#loop.participation;
  }

  get #elector(): LeaderElector | undefined {
    return this.#loop.participation?.elector;
  }

  /** @internal */
  protected override get reporting(): Reporting<ElectionSupervisorEvents> {
    return {
      events: SUPERVISOR_EVENTS,
      logger: this.#options.logger,
      message: 'something went wrong in the supervisor',
    };
  }
}

mark(ElectionSupervisor, 'ElectionSupervisor');
showAs(ElectionSupervisor, ({ id, path, term }) => ({ id, path, ...(term && { term }) }));
