import type { ElectionSupervisor } from '../cluster/supervisor/election-supervisor.js';
import type { LeaderElector } from '../election/leader-elector.js';
import { InvalidOptionError } from '../errors.js';
import { checkId, checkOptions, checkPath } from '../platform/checks.js';
import { type Logger, resolveLogger, withFields } from '../platform/logging/logger.js';
import { checkLeadership, claimRecord, onElected } from './elector-or-supervisor.js';
import { Job, type JobContext, type JobReport } from './job.js';
import { type JobOptions, resolveJobOptions } from './job-options.js';
import type { JobRun } from './job-run.js';
import { RunLog, recordOf, runLogOf } from './run-log.js';

/** Options of {@link LeaderJobs}. */
export interface LeaderJobsOptions {
  /**
   * The path of the run log. It has a node for each job, with the last firing that a process has run.
   * @default `<the election's path>/cron`
   */
  readonly path?: string;
  /** Any logger with pino's methods. @default pino at the level of CONCLAVE_LOG_LEVEL, else warnings and errors on stderr */
  readonly logger?: Logger;
}

/** What {@link LeaderJobs.job} returns: call it at each firing, or give it to a scheduler. */
export interface JobFunction<T> {
  /** Resolves with the job's result, or with `undefined` if the firing doesn't run here. */
  (...args: unknown[]): Promise<T | undefined>;
  /** The same, for schedulers that take only functions without a result. */
  (...args: unknown[]): Promise<void>;
}

/**
 * Jobs on any scheduler's times that run once per firing, in the process that leads. Start the schedule in each replica, with the
 * function that {@link LeaderJobs.job} returns.
 *
 * Guaranteed, as long as the clocks of the hosts differ by less than a minute:
 * - All replicas together begin a firing at most once; with `recover` at most once per term. The leader first notes the firing in
 *   ZooKeeper, in a transaction that the servers carry out only during the term.
 * - A job begins only while `term.isHeld()`, and never runs beside itself in a term. It counts as the leader's work.
 * - A firing that came while no process led runs on the next leader, if a replica that saw it is elected within `lateMs`, or with `next`.
 * - If a leader resigns before the job has begun, it takes the note back, so the firing isn't lost.
 *
 * Not guaranteed: that each firing runs. Without `recover`, a firing is lost if its leader is killed between the note and the end of the
 * job. If a timer is late by over a second while leadership moves, a firing may run twice, unless `atLeastMs` covers that. If you
 * change a schedule, its former firings of the last `lateMs` may run.
 *
 * Don't use it for what fires at the start of each replica: that is work for `lead`.
 *
 * @example
 * ```ts
 * const jobs = new LeaderJobs(supervisor);
 * const backup = jobs.job('backup', async ({ scheduledFor, token, signal }) => {
 *   await backUp(scheduledFor, { token, signal });
 * });
 * new Cron('0 3 * * *', backup); // croner, or any other scheduler
 * ```
 */
export class LeaderJobs {
  readonly #context: JobContext;
  readonly #path: string;
  readonly #jobs = new Map<string, Job<unknown>>();
  readonly #taps = new Set<(report: JobReport) => void>();

  /**
   * @param leadership - its leader runs the jobs. You start and stop it
   * @throws InvalidOptionError if `leadership` is neither a supervisor nor an elector, or if an option is wrong
   */
  constructor(leadership: ElectionSupervisor | LeaderElector, options?: LeaderJobsOptions) {
    checkLeadership(leadership);
    const given = checkOptions<LeaderJobsOptions>('jobs', options, ['path', 'logger']);
    const { path: election, id } = leadership;
    const logger = withFields(resolveLogger(given.logger), { election, id });
    this.#path = checkPath('path', given.path === undefined ? runLogOf(election) : given.path);
    const tell = (report: JobReport) => {
      for (const tap of this.#taps) tap(report);
    };
    this.#context = { leadership, log: new RunLog(this.#path, logger), logger, tell };
  }

  /**
   * Makes the function that you give to a scheduler in each replica.
   *
   * In the leader the function resolves with the job's result, or with `undefined` if the firing doesn't run. In other replicas it resolves
   * immediately with `undefined`, without a request, and the replica remembers the firing. If the job rejects, so does the function. It
   * resolves with `undefined` instead if the term has ended and the job rejects with the reason of its signal, or with an `AbortError`.
   * Errors of ZooKeeper go to the log, and the firing doesn't run. If no call waits for a job, its error goes to the log, too. A call from
   * within a run of the same job resolves immediately with `undefined`, and its firing runs afterwards.
   *
   * @param name - the key of the job's record: the same in each replica
   * @param work - the job
   * @throws InvalidOptionError if the name is empty, if another job of the election has it, or if an option is wrong
   */
  job<T>(name: string, work: (run: JobRun) => T | PromiseLike<T>, options?: JobOptions): JobFunction<T> {
    if (checkId('name', name) === undefined)
      throw new InvalidOptionError('name', name, 'a string of 1 to 256 printable characters');
    if (typeof work !== 'function') throw new InvalidOptionError('work', work, 'a function');
    const job = new Job(name, work, resolveJobOptions(options), this.#context);
    const { leadership } = this.#context;
    if (!claimRecord(leadership, recordOf(this.#path, name)))
      throw new InvalidOptionError('name', name, 'a name that no other job of this election and `path` has');
    this.#jobs.set(name, job as Job<unknown>);
    onElected(leadership, () => job.look());
    job.look();
    return (...args: unknown[]): Promise<never> => job.fire(args) as Promise<never>;
  }

  /** @internal By its path and id, measurements name the jobs. */
  get leadership(): ElectionSupervisor | LeaderElector {
    return this.#context.leadership;
  }

  /** @internal The names of the jobs, and for how long their runs have been under way. */
  get running(): readonly { readonly job: string; readonly runningMs: number | undefined }[] {
    return [...this.#jobs].map(([job, { runningMs }]) => ({ job, runningMs }));
  }

  /** @internal Calls `tap`, which must not throw, with what becomes of each firing. The returned function ends that. */
  tap(tap: (report: JobReport) => void): () => void {
    this.#taps.add(tap);
    return () => void this.#taps.delete(tap);
  }
}
