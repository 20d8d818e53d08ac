import { ElectionSupervisor } from '../cluster/supervisor/supervisor.js';
import { LeaderElector } from '../election/elector.js';
import type { Term } from '../election/term/term.js';
import { InvalidOptionError } from '../errors.js';
import { deferred } from '../platform/async/promises.js';
import { checkMs, checkOptions, checkPath, checkUtf8 } from '../platform/checks.js';
import { type Logger, resolveLogger, withFields } from '../platform/logging/logger.js';
import { dateAt } from '../platform/time/timers.js';
import type { Session } from '../session/session.js';
import { CatchUp, type CatchUpTask } from './catch-up.js';
import { type CatchUpOptions, resolveCatchUp } from './catch-up-plan.js';
import { type Firing, parseKey } from './firing.js';
import { type JobContext, JobRuns } from './job-runs.js';
import { RunLog } from './run-log.js';

/** Options of a {@link LeaderRunCoordinator}. */
export interface LeaderRunCoordinatorOptions {
  /**
   * The path of the run log. It has a node for each task, with the last firing that a process has run.
   * @default `<the election's path>/cron`
   */
  readonly path?: string;
  /**
   * How long a firing waits for this process to be elected before it is skipped, in milliseconds. Without this wait no process
   * would run a firing during a handover. Give less than the shortest period, or firings overlap. @default 500
   */
  readonly graceMs?: number;
  /**
   * How long a job may go on after its term has ended, in milliseconds. Then leadership is given away although the job goes on.
   * Set it for background tasks (those with a path for a function): node-cron doesn't report a run whose process has died. Set it
   * for tasks with `maxRandomDelay`, too: node-cron doesn't report a run that was stopped before it began, so stop the leadership first.
   * @default for as long as the job takes
   */
  readonly settleWithinMs?: number;
  /** Any logger with pino's methods. @default pino at the level of CONCLAVE_LOG_LEVEL, else warnings and errors on stderr */
  readonly logger?: Logger;
}

/** The events that a supervisor and an elector have in common. */
interface ElectionEvents {
  on(event: 'elected', listener: (term: Term) => void): unknown;
  once(event: 'elected', listener: (term: Term) => void): unknown;
  off(event: 'elected', listener: (term: Term) => void): unknown;
}

/**
 * A `RunCoordinator` for node-cron, by leadership: tasks with `distributed: true` run only in the process that leads.
 *
 * Guaranteed: a job begins only while `term.isHeld()`. All processes together run each firing once at most, as long as the
 * clocks of the hosts differ by less than a minute: the leader first writes the firing to ZooKeeper, in a transaction that the
 * servers carry out only during the term. A job counts as the leader's work, so leadership isn't given back while it runs.
 *
 * Not guaranteed: that each firing is run. A firing during a failover, after a kill for example, is lost unless you called
 * {@link LeaderRunCoordinator.catchUp} for its task. A firing that was written is always lost if the process dies before the
 * job has begun. If a job takes long, or begins later because of node-cron's `maxRandomDelay`, let it ask its term before it
 * acts: see {@link LeaderRunCoordinator.termOf}.
 *
 * @example
 * ```ts
 * const coordinator = new LeaderRunCoordinator(supervisor);
 * cron.schedule('0 3 * * *', async (context) => {
 *   const { token, signal } = coordinator.termOf(context);
 *   await backUp({ token, signal });
 * }, { name: 'backup', distributed: true, runCoordinator: coordinator });
 * ```
 */
export class LeaderRunCoordinator {
  readonly #leadership: ElectionSupervisor | LeaderElector;
  readonly #graceMs: number;
  readonly #logger: Logger;
  readonly #log: RunLog;
  readonly #runs: JobRuns;
  /** By the names of their tasks. */
  readonly #catchUps = new Map<string, CatchUp>();

  /**
   * @param leadership - its leader runs the jobs; the caller starts and stops it
   * @throws InvalidOptionError if `leadership` is neither a supervisor nor an elector, or if an option is wrong
   */
  constructor(leadership: ElectionSupervisor | LeaderElector, options?: LeaderRunCoordinatorOptions) {
    if (!(leadership instanceof ElectionSupervisor || leadership instanceof LeaderElector))
      throw new InvalidOptionError('leadership', leadership, 'an ElectionSupervisor or a LeaderElector');
    const given = checkOptions<LeaderRunCoordinatorOptions>('coordinator', options, [
      'path',
      'graceMs',
      'settleWithinMs',
      'logger',
    ]);
    this.#leadership = leadership;
    this.#graceMs = checkMs('graceMs', given.graceMs) ?? 500;
    const settleWithinMs = checkMs('settleWithinMs', given.settleWithinMs);
    const { path: election, id } = leadership;
    this.#logger = withFields(resolveLogger(given.logger), { election, id });
    this.#runs = new JobRuns(settleWithinMs, this.#logger);
    const path = checkPath('path', given.path === undefined ? `${leadership.path}/cron` : given.path);
    this.#log = new RunLog(path, this.#logger);
  }

  /**
   * Whether this process should run this firing. node-cron calls this.
   *
   * @throws the error for which this process can't reserve the firing. node-cron then skips the firing, and logs the error.
   */
  async shouldRun(key: string): Promise<boolean> {
    const firing = parseKey(key);
    const catchUp = this.#catchUps.get(firing.task);
    const answered = catchUp?.ask(firing.at);
    try {
      return await this.#mayRun(firing, catchUp);
    } catch (error) {
      catchUp?.invalidate();
      throw error;
    } finally {
      answered?.();
    }
  }

  /** Notes that the job has ended. node-cron calls this. */
  onComplete(key: string): void {
    this.#runs.complete(key);
  }

  /**
   * Runs missed firings of a task from now on, while this process leads: firings since the last one that a process has run, or since
   * a leader called this method for the first time. Call it in each replica, right after you have scheduled the task.
   *
   * Guaranteed: each missed firing runs once at most, like any other firing. Missed firings run in their order, one at a time, and later
   * firings run after them. node-cron reports these runs as executions that were invoked: `context.date` is the time of the run, and {@link
   * LeaderRunCoordinator.scheduledFor} gives the time of the firing. If the leader is lost meanwhile, the next leader goes on.
   *
   * Not guaranteed: that a firing runs again if its job failed or was cut off. Firings from before a change of the task's expression
   * don't count as missed. A process in which the task is stopped catches up nothing. Catching up ends when the task is destroyed.
   *
   * @param task - a task of node-cron, with a name, `distributed: true` and this coordinator
   * @throws InvalidOptionError if `task` isn't such a task, if you gave another task with that name before, or if an option is wrong
   *
   * @example
   * ```ts
   * const task = cron.schedule('0 3 * * *', backUp, { name: 'backup', distributed: true, runCoordinator: coordinator });
   * coordinator.catchUp(task, { missed: 'once', missedWindowMs: 6 * 3600_000 });
   * ```
   */
  catchUp(task: CatchUpTask, options?: CatchUpOptions): void {
    const resolved = resolveCatchUp(options);
    const name = checkTask(task);
    if (this.#catchUps.has(name)) throw new InvalidOptionError('task', name, 'a name that no other task has');
    if (resolved.policy === undefined) return;
    const events: ElectionEvents = this.#leadership;
    if (this.#catchUps.size === 0) events.on('elected', this.#onElected);
    const onEnd = () => {
      this.#catchUps.delete(name);
      if (this.#catchUps.size === 0) events.off('elected', this.#onElected);
    };
    const context = {
      log: this.#log,
      runs: this.#runs,
      logger: this.#logger,
      term: () => this.#leadership.term,
      sessionOf: (term: Term) => this.#sessionOf(term),
    };
    this.#catchUps.set(name, new CatchUp(name, task, resolved.policy, resolved, context, onEnd));
  }

  /**
   * The term of a running job, from the context that node-cron passes to the job. The term has the token for the stores to which
   * the job writes, the signal, and `isHeld()`, which the job asks before it acts.
   *
   * @throws InvalidStateError if this coordinator runs no such job in this process: `task.execute()` started the job, or the job
   *   runs in the background or has ended
   */
  termOf(context: JobContext): Term {
    return this.#runs.of(context).term;
  }

  /**
   * The time of the firing for which a job runs. It is `context.date`, unless the firing was missed and runs later.
   *
   * @throws InvalidStateError as {@link LeaderRunCoordinator.termOf}
   */
  scheduledFor(context: JobContext): Date {
    return dateAt(this.#runs.of(context).firing.at);
  }

  async #mayRun(firing: Firing, catchUp: CatchUp | undefined): Promise<boolean> {
    const term = this.#leadership.term ?? (await this.#elected());
    if (!term?.isHeld()) return false;
    const session = await this.#sessionOf(term);
    if (session === undefined) return false;
    if (catchUp !== undefined && !(await catchUp.mayRun(term))) return false;
    if (!(await this.#log.reserve(firing, term, session, catchUp?.expression))) return false;
    // The reply may have come after the lease. The firing is then reserved but not run, because it may run once at most.
    if (!term.isHeld()) return false;
    this.#runs.begin(firing, term, session.clock);
    return true;
  }

  readonly #onElected = (term: Term): void => {
    for (const catchUp of this.#catchUps.values()) catchUp.begin(term);
  };

  /** The next term of this process, if it begins within `graceMs`. */
  async #elected(): Promise<Term | undefined> {
    const elected = deferred<Term | undefined>();
    const onElected = (term: Term) => elected.resolve(term);
    const source = this.#leadership instanceof LeaderElector ? this.#leadership.session : this.#leadership;
    const timer = source.environment.clock.after(this.#graceMs, () => elected.resolve(undefined));
    const events: ElectionEvents = this.#leadership;
    events.once('elected', onElected);
    const term = await elected.promise;
    events.off('elected', onElected);
    timer.clear();
    return term;
  }

  /** The session of the term; `undefined` if the term ends before there is a session. */
  async #sessionOf(term: Term): Promise<Session | undefined> {
    if (this.#leadership instanceof LeaderElector) return this.#leadership.session;
    return await this.#leadership.session(term.signal).catch(() => undefined); // The supervisor has stopped.
  }
}

/** @returns the task's name */
function checkTask(task: CatchUpTask): string {
  const methods = ['match', 'getNextRuns', 'getNextRun', 'getPattern', 'execute', 'on', 'off'] as const;
  const isTask = typeof task === 'object' && task !== null;
  if (
    isTask &&
    typeof task.name === 'string' &&
    methods.every((method) => typeof task[method] === 'function')
  )
    return checkUtf8('task', task.name);
  throw new InvalidOptionError('task', task, "node-cron's task, with a name");
}
