import type { ElectionSupervisor } from '../cluster/supervisor/supervisor.js';
import type { LeaderElector } from '../election/elector.js';
import type { Term } from '../election/term/term.js';
import { InvalidStateError } from '../errors.js';
import { type Firing, isDue } from '../jobs/firing.js';
import {
  checkLeadership,
  clockOf,
  type Leadership,
  logPathOf,
  onElected,
  sessionOf,
} from '../jobs/leadership.js';
import { RunLog } from '../jobs/run-log.js';
import { onAbort } from '../platform/async/lazy-abort-controller.js';
import { deferred } from '../platform/async/promises.js';
import { checkMs, checkOptions } from '../platform/checks.js';
import { type Logger, resolveLogger, withFields } from '../platform/logging/logger.js';
import type { Timer } from '../platform/time/clock.js';
import { keyOf, parseKey } from './key-of-firing.js';

/** Options of a {@link LeaderRunCoordinator}. */
export interface LeaderRunCoordinatorOptions {
  /**
   * The path of the run log. It has a node for each task, with the last firing that a process has run. `LeaderJobs` of `conclave/jobs`
   * use the same log. @default `<the election's path>/cron`
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

/** The part of a job's context that identifies the run. node-cron passes the context to the job. */
export interface JobContext {
  /** The time at which the run should begin. */
  readonly date: Date;
  /** The task, if node-cron names it. */
  readonly task?: { readonly name?: string } | undefined;
}

/** A running job, with a function that ends its part in the leader's work. */
interface Run {
  readonly term: Term;
  readonly complete: () => void;
}

/**
 * A `RunCoordinator` for node-cron, by leadership: tasks with `distributed: true` run only in the process that leads. Use it for background
 * tasks, which run in a process of their own. For all others, `LeaderJobs` of `conclave/jobs` loses fewer firings.
 *
 * Guaranteed: a job begins only while `term.isHeld()`. All processes together run each firing once at most, as long as the
 * clocks of the hosts differ by less than a minute: the leader first writes the firing to ZooKeeper, in a transaction that the
 * servers carry out only during the term. A job counts as the leader's work, so leadership isn't given back while it runs.
 *
 * Not guaranteed: that each firing is run. A firing is lost if no process leads within `graceMs`, after a kill for example. If the clocks
 * differ by more than `graceMs`, a firing is also lost when leadership moves from a host that is behind to one that is ahead. A firing that
 * was written is lost if the process dies before the job has begun. If a job takes long, or begins later because of node-cron's
 * `maxRandomDelay`, let it ask its term before it acts: see {@link LeaderRunCoordinator.termOf}.
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
  readonly #leadership: Leadership;
  readonly #graceMs: number;
  readonly #settleWithinMs: number | undefined;
  readonly #logger: Logger;
  readonly #log: RunLog;
  readonly #runs = new Map<string, Run>();

  /**
   * @param leadership - its leader runs the jobs; the caller starts and stops it
   * @throws InvalidOptionError if `leadership` is neither a supervisor nor an elector, or if an option is wrong
   */
  constructor(leadership: ElectionSupervisor | LeaderElector, options?: LeaderRunCoordinatorOptions) {
    this.#leadership = checkLeadership(leadership);
    const names = ['path', 'graceMs', 'settleWithinMs', 'logger'] as const;
    const given = checkOptions<LeaderRunCoordinatorOptions>('coordinator', options, names);
    this.#graceMs = checkMs('graceMs', given.graceMs) ?? 500;
    this.#settleWithinMs = checkMs('settleWithinMs', given.settleWithinMs);
    const { path: election, id } = leadership;
    this.#logger = withFields(resolveLogger(given.logger), { election, id });
    this.#log = new RunLog(logPathOf(leadership, given.path), this.#logger);
  }

  /**
   * Whether this process should run this firing. node-cron calls this.
   *
   * @throws the error for which this process can't reserve the firing. node-cron then skips the firing, and logs the error.
   */
  async shouldRun(key: string): Promise<boolean> {
    const firing = parseKey(key);
    const term = this.#leadership.term ?? (await this.#elected());
    if (!term?.isHeld()) return false;
    const answered = deferred();
    term.waitUntil(answered.promise); // The term lasts until it is certain whether the note stays.
    try {
      const leader = { term, session: await sessionOf(this.#leadership, term) };
      // node-cron asks about a firing when its time has come, so that time is taken for this host's.
      const note = {
        due: (last: Parameters<typeof isDue>[1]) => isDue(firing.at, last, firing.at),
        open: false,
      };
      return (await this.#log.begin(firing, leader, note, () => this.#begin(firing, term))) !== undefined;
    } catch (error) {
      if (term.signal.aborted) return false;
      throw error;
    } finally {
      answered.resolve();
    }
  }

  /** Notes that the job has ended. node-cron calls this. */
  onComplete(key: string): void {
    this.#runs.get(key)?.complete();
  }

  /**
   * The term of a running job, from the context that node-cron passes to the job. The term has the token for the stores to which
   * the job writes, the signal, and `isHeld()`, which the job asks before it acts.
   *
   * @throws InvalidStateError if this coordinator runs no such job in this process: `task.execute()` started the job, or the job
   *   runs in the background or has ended
   */
  termOf({ date, task }: JobContext): Term {
    const job = task?.name;
    const run = job === undefined ? undefined : this.#runs.get(keyOf({ job, at: date.getTime() }));
    if (run === undefined) throw new InvalidStateError('this coordinator runs no such job');
    return run.term;
  }

  /** From now on the job is the leader's work. */
  #begin(firing: Firing, term: Term): Run {
    const key = keyOf(firing);
    const done = deferred();
    term.waitUntil(done.promise);
    let timer: Timer | undefined;
    const unsubscribe = onAbort(term.signal, () => {
      const ms = this.#settleWithinMs;
      if (ms !== undefined) timer = clockOf(this.#leadership).after(ms, () => this.#abandon(key));
    });
    const complete = () => {
      timer?.clear();
      unsubscribe();
      this.#runs.delete(key);
      done.resolve();
    };
    const run = { term, complete };
    this.#runs.set(key, run);
    return run;
  }

  #abandon(key: string): void {
    this.#logger.error({ key }, 'a job still runs after its term: giving leadership up anyway');
    this.onComplete(key);
  }

  /** The next term of this process, if it begins within `graceMs`. */
  async #elected(): Promise<Term | undefined> {
    const elected = deferred<Term | undefined>();
    const unsubscribe = onElected(this.#leadership, elected.resolve);
    const timer = clockOf(this.#leadership).after(this.#graceMs, () => elected.resolve(undefined));
    const term = await elected.promise;
    unsubscribe();
    timer.clear();
    return term;
  }
}
