import type { Term } from '../election/term/term.js';
import { TermEndedError } from '../errors.js';
import { type Deferred, deferred, ignore } from '../platform/async/promises.js';
import type { Logger } from '../platform/logging/logger.js';
import { sleep } from '../platform/time/clock.js';
import { dateAt } from '../platform/time/timers.js';
import type { Session } from '../session/session.js';
import {
  type CatchUpPlan,
  type CatchUpPolicy,
  type MissedFirings,
  planCatchUp,
  type ResolvedCatchUp,
} from './catch-up-plan.js';
import type { JobContext, JobRun, JobRuns } from './job-runs.js';
import type { RunLog } from './run-log.js';
import type { Schedule } from './schedule.js';

/** The part of node-cron's `ScheduledTask` that catching up needs. */
export interface CatchUpTask extends Schedule {
  /** The task's name. A task needs one to be caught up. */
  readonly name?: string;
  /** Its cron expression. */
  getPattern(): string;
  /** When it fires next; `null` while it is stopped. */
  getNextRun(): Date | null;
  /** Runs the job now. Settles when it has ended. */
  execute(): Promise<unknown>;
  /** Adds a listener. */
  on(event: TaskEvent, listener: (context: JobContext) => void): void;
  /** Removes a listener. */
  off(event: TaskEvent, listener: (context: JobContext) => void): void;
}

type TaskEvent = 'execution:started' | 'execution:missed' | 'task:started' | 'task:destroyed';

/** The part of the coordinator that catching up needs. */
export interface CatchUpContext {
  readonly log: RunLog;
  readonly runs: JobRuns;
  readonly logger: Logger;
  /** The term of this process, if it leads. */
  term(): Term | undefined;
  /** The session of the term; `undefined` if the term ends before there is a session. */
  sessionOf(term: Term): Promise<Session | undefined>;
}

type State =
  /** The coordinator doesn't know whether firings are missing. */
  | { readonly at: 'unknown' }
  /** The coordinator looks for missing firings. `found` says whether node-cron may run the firings that it asks about. */
  | { readonly at: 'planning'; readonly found: Promise<boolean> }
  /** The coordinator runs missed firings, and then later ones. */
  | { readonly at: 'running' }
  /** No firing is missing as long as the term lasts, because node-cron runs each one. */
  | { readonly at: 'current'; readonly term: Term }
  | { readonly at: 'ended' };

/**
 * Catches up one task. In the terms of this process it runs the firings that no process has run according to the run log, in their
 * order and one at a time.
 *
 * node-cron goes through the firings in their order, and asks about each. If the process was blocked, it reports a firing as missed
 * instead. So this object handles the firings up to the last one that node-cron has asked about or reported, and node-cron handles
 * later ones. While this object runs missed firings, it answers node-cron's questions with no. It runs these firings itself, after
 * the earlier ones.
 */
export class CatchUp {
  readonly #task: CatchUpTask;
  readonly #name: string;
  readonly #policy: CatchUpPolicy;
  readonly #options: ResolvedCatchUp;
  readonly #context: CatchUpContext;
  readonly #onEnd: () => void;
  #state: State = { at: 'unknown' };
  /** node-cron handles firings later than this. */
  #handledUpTo = 0;
  /** Firings that node-cron asks about just now. */
  readonly #asked = new Set<number>();

  constructor(
    name: string,
    task: CatchUpTask,
    policy: CatchUpPolicy,
    options: ResolvedCatchUp,
    context: CatchUpContext,
    onEnd: () => void,
  ) {
    this.#task = task;
    this.#name = name;
    this.#policy = policy;
    this.#options = options;
    this.#context = context;
    this.#onEnd = onEnd;
    task.on('execution:missed', this.#onMissed);
    task.on('task:started', this.#onStarted);
    task.on('task:destroyed', this.#end);
    this.#onStarted();
  }

  /** The task's expression, for the run log. */
  get expression(): string {
    return this.#task.getPattern();
  }

  /** Notes that node-cron asks about a firing. Call the returned function when node-cron has its answer. */
  ask(at: number): () => void {
    this.#handledUpTo = Math.max(this.#handledUpTo, at);
    this.#asked.add(at);
    return () => void this.#asked.delete(at);
  }

  /**
   * Whether node-cron may run the firing that it asks about. It may if no earlier firing is missing.
   * @throws the error for which the coordinator can't find that out
   */
  async mayRun(term: Term): Promise<boolean> {
    this.begin(term);
    const state = this.#state;
    if (state.at === 'planning') return await state.found;
    return state.at === 'current' && state.term === term;
  }

  /** Notes that a firing couldn't be run, so it is missing. */
  invalidate(): void {
    if (this.#state.at === 'current') this.#state = { at: 'unknown' };
  }

  /** Looks for missed firings, unless it does so already, or none is missing. */
  begin(term: Term): void {
    const state = this.#state;
    const isLookedFor = state.at === 'unknown' || (state.at === 'current' && state.term !== term);
    if (!isLookedFor || !this.#isStarted() || !term.isHeld()) return;
    const found = deferred<boolean>();
    found.promise.catch(ignore); // `#work` logs the error.
    this.#state = { at: 'planning', found: found.promise };
    void this.#work(term, found);
  }

  /** Never rejects. */
  async #work(term: Term, found: Deferred<boolean>): Promise<void> {
    try {
      await this.#catchUp(term, found);
    } catch (error) {
      this.#enter({ at: 'unknown' });
      if (!(error instanceof TermEndedError)) {
        this.#context.logger.error({ task: this.#name, error }, 'the search for missed firings failed');
        found.reject(error);
      }
    }
    found.resolve(false);
    // A new term may have begun before a job of the former term had ended.
    const next = this.#context.term();
    if (next !== undefined && next !== term) this.begin(next);
  }

  #enter(state: State): void {
    if (this.#state.at !== 'ended') this.#state = state;
  }

  /** Runs missed firings until none is missing, the term has ended, or the task has stopped. */
  async #catchUp(term: Term, found: Deferred<boolean>): Promise<void> {
    const session = await this.#context.sessionOf(term);
    while (session !== undefined && term.isHeld() && this.#isStarted()) {
      const upTo = this.#handledUpTo;
      const plan = await this.#plan(term, session, upTo);
      const isAsked = (at: number) => this.#asked.has(at);
      const toRun = plan.toRun.every(isAsked) ? [] : plan.toRun;
      await this.#report(plan, toRun, term, session);
      if (toRun.length > 0) {
        this.#enter({ at: 'running' });
        found.resolve(false);
        await this.#runAll(toRun, term, session);
      } else if (upTo === this.#handledUpTo) {
        this.#enter({ at: 'current', term });
        return found.resolve(true);
      }
    }
    this.#enter({ at: 'unknown' });
  }

  async #plan(term: Term, session: Session, upTo: number): Promise<CatchUpPlan> {
    const { log } = this.#context;
    const last = await log.lastRun(this.#name, term, session);
    const hasChanged = last?.expression !== undefined && last.expression !== this.expression;
    if (last === undefined || hasChanged) {
      // The run log counts from here on. It must not include the firings that node-cron asks about just now: they are still to run.
      const at = Math.min(upTo, ...[...this.#asked].map((asked) => asked - 1));
      await log.reserve({ task: this.#name, at }, term, session, this.expression);
      return { toRun: [] };
    }
    const { clock } = session;
    const now = clock.date().getTime();
    const steps = planCatchUp(this.#task, last, upTo, now, this.#policy, this.#options.offsetAt);
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      await sleep(clock, 0, term.signal);
    }
  }

  /** Reports a plan. It marks dropped firings as run, so that they are reported only once. */
  async #report(
    { dropped }: CatchUpPlan,
    toRun: readonly number[],
    term: Term,
    session: Session,
  ): Promise<void> {
    if (dropped === undefined && toRun.length === 0) return;
    const { log, logger } = this.#context;
    const task = this.#name;
    const missed: MissedFirings = { task, toRun: toRun.map(dateAt) };
    if (toRun.length > 0)
      logger.info(
        { task, count: toRun.length, first: missed.toRun[0] },
        'running the missed firings of a task now',
      );
    if (dropped !== undefined) {
      const [after, upTo] = [dateAt(dropped.after), dateAt(dropped.upTo)];
      logger.warn({ task, after, upTo }, 'skipping missed firings of a task: they are too old or too many');
      await log.reserve({ task, at: dropped.upTo }, term, session, this.expression);
      this.#tell({ ...missed, dropped: { after, upTo } });
    } else this.#tell(missed);
  }

  #tell(missed: MissedFirings): void {
    try {
      this.#options.onMissed?.(missed);
    } catch (error) {
      this.#context.logger.error({ task: this.#name, error }, 'onMissed threw an error');
    }
  }

  async #runAll(firings: readonly number[], term: Term, session: Session): Promise<void> {
    const { log, runs } = this.#context;
    await runs.settled(this.#name);
    for (const at of firings) {
      if (!term.isHeld() || !this.#isStarted()) return;
      const firing = { task: this.#name, at };
      const isReserved = await log.reserve(firing, term, session, this.expression);
      // The reply may have come after the lease. The firing is then reserved but not run, because it may run once at most.
      if (isReserved && term.isHeld() && this.#isStarted())
        await this.#run(runs.begin(firing, term, session.clock));
    }
  }

  async #run(run: JobRun): Promise<void> {
    const { runs } = this.#context;
    let forget: (() => void) | undefined;
    const identify = ({ execution }: JobContext) => {
      if (execution !== undefined) forget = runs.identify(run, execution.id);
    };
    // node-cron reports the start of a function before `execute` returns. A background task isn't identified, because it gets no term.
    this.#task.on('execution:started', identify);
    const execution = this.#task.execute();
    this.#task.off('execution:started', identify);
    // The application handles a failure of its job: node-cron has logged it, and emitted an event.
    execution.then(run.complete, run.complete);
    await run.ended; // With `settleWithinMs` this may be before the execution ends.
    forget?.();
  }

  /** Whether node-cron goes through the task's firings. */
  #isStarted(): boolean {
    return this.#state.at !== 'ended' && this.#task.getNextRun() !== null;
  }

  readonly #onStarted = (): void => {
    const next = this.#task.getNextRun();
    if (next === null) return;
    this.#handledUpTo = Math.max(this.#handledUpTo, next.getTime() - 1);
    this.#look();
  };

  readonly #onMissed = ({ date }: JobContext): void => {
    this.#handledUpTo = Math.max(this.#handledUpTo, date.getTime());
    this.#look();
  };

  /** Looks for missed firings, because some may be missing now. */
  #look(): void {
    this.invalidate();
    const term = this.#context.term();
    if (term !== undefined) this.begin(term);
  }

  readonly #end = (): void => {
    this.#state = { at: 'ended' };
    this.#task.off('execution:missed', this.#onMissed);
    this.#task.off('task:started', this.#onStarted);
    this.#task.off('task:destroyed', this.#end);
    this.#onEnd();
  };
}
