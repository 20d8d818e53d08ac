import { ElectionSupervisor } from '../cluster/supervisor/supervisor.js';
import { LeaderElector } from '../election/elector.js';
import type { Term } from '../election/term/term.js';
import { InvalidOptionError, InvalidStateError } from '../errors.js';
import { onAbort } from '../platform/async/lazy-abort.js';
import { deferred } from '../platform/async/promises.js';
import { checkMs, checkOptions, checkPath } from '../platform/checks.js';
import { type Logger, resolveLogger } from '../platform/logging/logger.js';
import type { Clock, Timer } from '../platform/time/clock.js';
import type { Session } from '../session/session.js';
import { RunLog } from './run-log.js';
import { keyOf, parseKey } from './slot.js';

/** How a {@link LeaderRunCoordinator} decides. */
export interface LeaderRunCoordinatorOptions {
  /** Where it is noted which firing of each task was run last, a node for each task. @default `<the election's path>/cron` */
  readonly path?: string;
  /**
   * How long a firing waits for this process to be elected before it is skipped, in milliseconds: at a handover nobody
   * leads for a moment, and what fires in that moment would be run nowhere. Less than the shortest period, or firings
   * overlap. @default 500
   */
  readonly graceMs?: number;
  /**
   * How long after a term has ended a job of it may go on before leadership is given away all the same, in milliseconds.
   * For background tasks (those with a path for a function): node-cron doesn't tell of a run whose process has died. And for
   * tasks with `maxRandomDelay`: nor does it tell of one that was stopped before it began, so stop the leadership first.
   * @default for as long as it takes
   */
  readonly settleWithinMs?: number;
  /** Any logger with pino's methods. @default pino at the level of CONCLAVE_LOG_LEVEL, else warnings and errors on stderr */
  readonly logger?: Logger;
}

/** What node-cron gives a job, as far as it tells which run it is. */
export interface JobContext {
  readonly date: Date;
  readonly task?: { readonly name?: string } | undefined;
}

/** What a supervisor and an elector have in common here. */
interface ElectionEvents {
  once(event: 'elected', listener: (term: Term) => void): unknown;
  off(event: 'elected', listener: (term: Term) => void): unknown;
}

/** A job that runs. */
interface Run {
  readonly term: Term;
  complete(): void;
}

/**
 * node-cron's `RunCoordinator`, by leadership: tasks with `distributed: true` run only in the process that leads.
 *
 * Guaranteed: a job is begun only while `term.isHeld()`; each firing is run once at most, whoever leads, as long as the clocks
 * of the hosts differ by less than a minute, because it is noted in ZooKeeper before, in a transaction that is carried out
 * only during the term; a job counts as the leader's work, so that leadership isn't given back while it runs.
 *
 * Not guaranteed: that each firing is run. One during a failover, after a kill say, is lost; one that was noted is lost if
 * the process dies before the job has begun. A job that goes on should ask its term before it acts: see
 * {@link LeaderRunCoordinator.termOf}; also with node-cron's `maxRandomDelay`, which lets a job begin later.
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
  /** What runs, by its key. */
  readonly #runs = new Map<string, Run>();

  /**
   * @param leadership - whose leader runs the jobs; it remains the caller's to start and stop
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
    this.#logger = resolveLogger(given.logger);
    const path = checkPath('path', given.path === undefined ? `${leadership.path}/cron` : given.path);
    this.#log = new RunLog(path, this.#logger);
  }

  /**
   * Whether this process is to run what fires now: called by node-cron.
   *
   * @throws what keeps the firing from being noted: node-cron skips it then, and logs why
   */
  async shouldRun(key: string): Promise<boolean> {
    const slot = parseKey(key);
    const term = this.#leadership.term ?? (await this.#elected());
    if (!term?.isHeld()) return false;
    const session = await this.#sessionOf(term);
    if (session === undefined || !(await this.#log.note(slot, term, session))) return false;
    // The reply may have come late. Noted it is, and nobody will run it: once at most.
    if (!term.isHeld()) return false;
    this.#begin(key, term, session);
    return true;
  }

  /** The job has ended: called by node-cron. */
  onComplete(key: string): void {
    this.#runs.get(key)?.complete();
  }

  /**
   * The term that a job runs in, from what node-cron calls the job with: its token for what the job writes to, its signal,
   * and `isHeld()` to ask before it acts.
   *
   * @throws InvalidStateError if no such job runs by this coordinator in this process: it was begun by `task.execute()`,
   *   runs in the background, or has ended
   */
  termOf({ date, task }: JobContext): Term {
    const run = task?.name === undefined ? undefined : this.#runs.get(keyOf(task.name, date));
    if (run === undefined) throw new InvalidStateError('no such job runs by this coordinator');
    return run.term;
  }

  /** The next term of this process, if it comes within the grace. */
  async #elected(): Promise<Term | undefined> {
    const elected = deferred<Term | undefined>();
    const onElected = (term: Term) => elected.resolve(term);
    const timer = this.#clock.after(this.#graceMs, () => elected.resolve(undefined));
    const events: ElectionEvents = this.#leadership;
    events.once('elected', onElected);
    const term = await elected.promise;
    events.off('elected', onElected);
    timer.clear();
    return term;
  }

  get #clock(): Clock {
    const { environment } =
      this.#leadership instanceof LeaderElector ? this.#leadership.session : this.#leadership;
    return environment.clock;
  }

  /** `undefined` if the term ends before. */
  async #sessionOf(term: Term): Promise<Session | undefined> {
    if (this.#leadership instanceof LeaderElector) return this.#leadership.session;
    try {
      return await this.#leadership.session(term.signal);
    } catch {
      return undefined; // The supervisor has stopped, and with it the term.
    }
  }

  /** From now on it is the leader's work. */
  #begin(key: string, term: Term, { clock }: Session): void {
    const done = deferred();
    term.waitUntil(done.promise);
    let timer: Timer | undefined;
    const forget = onAbort(term.signal, () => {
      const ms = this.#settleWithinMs;
      if (ms !== undefined) timer = clock.after(ms, () => this.#abandon(key));
    });
    const complete = () => {
      timer?.clear();
      forget();
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
