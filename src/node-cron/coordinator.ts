import { ElectionSupervisor } from '../cluster/supervisor/supervisor.js';
import { LeaderElector } from '../election/elector.js';
import type { Term } from '../election/term/term.js';
import { InvalidOptionError, InvalidStateError } from '../errors.js';
import { onAbort } from '../platform/async/lazy-abort.js';
import { deferred } from '../platform/async/promises.js';
import { checkMs, checkOptions, checkPath } from '../platform/checks.js';
import { type Logger, resolveLogger, withFields } from '../platform/logging/logger.js';
import type { Timer } from '../platform/time/clock.js';
import type { Session } from '../session/session.js';
import { keyOf, parseKey } from './firing.js';
import { RunLog } from './run-log.js';

/** Options of a {@link LeaderRunCoordinator}. */
export interface LeaderRunCoordinatorOptions {
  /** The parent of the nodes, one for each task, that hold its last firing that was run. @default `<the election's path>/cron` */
  readonly path?: string;
  /**
   * How long a firing waits for this process to be elected before it is skipped, in milliseconds: otherwise no process would
   * run a firing during a handover. Less than the shortest period, or firings overlap. @default 500
   */
  readonly graceMs?: number;
  /**
   * How long a job may go on after its term has ended before leadership is given away all the same, in milliseconds. For
   * background tasks (those with a path for a function): node-cron doesn't report a run whose process has died. And for
   * tasks with `maxRandomDelay`: nor does it report a run that was stopped before it began, so stop the leadership first.
   * @default for as long as the job takes
   */
  readonly settleWithinMs?: number;
  /** Any logger with pino's methods. @default pino at the level of CONCLAVE_LOG_LEVEL, else warnings and errors on stderr */
  readonly logger?: Logger;
}

/** What node-cron passes to a job: the part that identifies the run. */
export interface JobContext {
  readonly date: Date;
  readonly task?: { readonly name?: string } | undefined;
}

/** The events that a supervisor and an elector have in common. */
interface ElectionEvents {
  once(event: 'elected', listener: (term: Term) => void): unknown;
  off(event: 'elected', listener: (term: Term) => void): unknown;
}

interface Run {
  readonly term: Term;
  complete(): void;
}

/**
 * node-cron's `RunCoordinator`, by leadership: tasks with `distributed: true` run only in the process that leads.
 *
 * Guaranteed: a job begins only while `term.isHeld()`; each firing is run once at most, whichever process leads, as long as
 * the clocks of the hosts differ by less than a minute, because it is written to ZooKeeper before, in a transaction that is
 * carried out only during the term; a job counts as the leader's work, so that leadership isn't given back while it runs.
 *
 * Not guaranteed: that each firing is run. A firing during a failover, after a kill say, is lost; so is one that was
 * written, if the process dies before the job has begun. A job that takes long should ask its term before it acts: see
 * {@link LeaderRunCoordinator.termOf}; also with node-cron's `maxRandomDelay`, with which a job begins later.
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
  readonly #settleWithinMs: number | undefined;
  readonly #logger: Logger;
  readonly #log: RunLog;
  /** The running jobs, by key. */
  readonly #runs = new Map<string, Run>();

  /**
   * @param leadership - its leader runs the jobs; the caller starts and stops it
   * @throws InvalidOptionError if it is neither a supervisor nor an elector, or an option is wrong
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
    this.#settleWithinMs = checkMs('settleWithinMs', given.settleWithinMs);
    const { path: election, id } = leadership;
    this.#logger = withFields(resolveLogger(given.logger), { election, id });
    const path = checkPath('path', given.path === undefined ? `${leadership.path}/cron` : given.path);
    this.#log = new RunLog(path, this.#logger);
  }

  /**
   * Whether this process is to run this firing: called by node-cron.
   *
   * @throws why the firing can't be reserved: node-cron then skips it, and logs the error
   */
  async shouldRun(key: string): Promise<boolean> {
    const firing = parseKey(key);
    const term = this.#leadership.term ?? (await this.#elected());
    if (!term?.isHeld()) return false;
    const session = await this.#sessionOf(term);
    if (session === undefined || !(await this.#log.reserve(firing, term, session))) return false;
    // The reply may have come after the lease. The firing is reserved, and won't be run: once at most.
    if (!term.isHeld()) return false;
    this.#begin(key, term, session);
    return true;
  }

  /** The job has ended: called by node-cron. */
  onComplete(key: string): void {
    this.#runs.get(key)?.complete();
  }

  /**
   * The term of a running job, from the context that node-cron passes to the job: with the token for the stores to which the
   * job writes, its signal, and `isHeld()` to ask before it acts.
   *
   * @throws InvalidStateError if this coordinator runs no such job in this process: it was started by `task.execute()`, runs
   *   in the background, or has ended
   */
  termOf({ date, task }: JobContext): Term {
    const run = task?.name === undefined ? undefined : this.#runs.get(keyOf(task.name, date));
    if (run === undefined) throw new InvalidStateError('no such job runs by this coordinator');
    return run.term;
  }

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

  /** `undefined` if the term ends before there is one. */
  async #sessionOf(term: Term): Promise<Session | undefined> {
    if (this.#leadership instanceof LeaderElector) return this.#leadership.session;
    return await this.#leadership.session(term.signal).catch(() => undefined); // The supervisor has stopped.
  }

  /** From now on the job is the leader's work. */
  #begin(key: string, term: Term, { clock }: Session): void {
    const done = deferred();
    term.waitUntil(done.promise);
    let timer: Timer | undefined;
    const unsubscribe = onAbort(term.signal, () => {
      const ms = this.#settleWithinMs;
      if (ms !== undefined) timer = clock.after(ms, () => this.#abandon(key));
    });
    const complete = () => {
      timer?.clear();
      unsubscribe();
      this.#runs.delete(key);
      done.resolve();
    };
    this.#runs.set(key, { term, complete });
  }

  #abandon(key: string): void {
    this.#logger.error({ key }, 'a job goes on after its term: leadership is given away all the same');
    this.onComplete(key);
  }
}
