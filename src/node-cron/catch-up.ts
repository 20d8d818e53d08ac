import type { Term } from '../election/term/term.js';
import { TermEndedError } from '../errors.js';
import { type Deferred, deferred, ignore } from '../platform/async/promises.js';
import type { Logger } from '../platform/logging/logger.js';
import { sleep } from '../platform/time/clock.js';
import { dateAt } from '../platform/time/timers.js';
import type { Session } from '../session/session.js';
import type { MissedFirings, ResolvedCatchUp } from './catch-up-options.js';
import { type CatchUpPlan, type CatchUpPolicy, planCatchUp } from './catch-up-plan.js';
import type { JobContext, JobRun, JobRuns } from './job-runs.js';
import type { RunLog } from './run-log.js';
import type { Schedule } from './schedule.js';

/** The part of node-cron's `ScheduledTask` that catching up needs. */
export interface CatchUpTask extends Schedule {
  /** The task's name. It has to have one. */
  readonly name?: string;
  /** Its cron expression. */
  getPattern(): string;
  /** When it fires next; `null` while it is stopped. */
  getNextRun(): Date | null;
  /** Runs the job now. Settles when it has ended. */
  execute(): Promise<unknown>;
  /** Adds a listener. */
  on(event: TaskEvent, listener: (context: JobContext) => void): void;
  /** Takes a listener away. */
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
  /** `undefined` if the term ends before there is one. */
  sessionOf(term: Term): Promise<Session | undefined>;
}

type State =
  /** The coordinator doesn't know whether firings are missing. */
  | { readonly at: 'unknown' }
  /** It is finding that out. `found` says whether node-cron may run the firings for which it asks. */
  | { readonly at: 'planning'; readonly found: Promise<boolean> }
  /** Missed firings are run, and later ones after them. */
  | { readonly at: 'running' }
  /** None is missing, as long as the term lasts: node-cron runs each firing. */
  | { readonly at: 'current'; readonly term: Term }
  | { readonly at: 'ended' };

/**
 * Catches up one task: runs firings of it that no process has run, by the run log, in their order and one at a time, in the
 * terms of this process.
 *
 * node-cron goes through the firings in their order, and asks about each (or reports it as missed, when the process was blocked).
 * So firings up to the last of which it has asked are this object's concern, and later ones still node-cron's. While missed firings
 * are run, node-cron is told not to run what it asks for: that is run here, after those that were before.
 */
export class CatchUp {
  readonly #task: CatchUpTask;
  readonly #name: string;
  readonly #policy: CatchUpPolicy;
  readonly #options: ResolvedCatchUp;
  readonly #context: CatchUpContext;
  readonly #onEnd: () => void;
  #state: State = { at: 'unknown' };
  /** node-cron sees to firings later than this. */
  #handledUpTo = 0;
  /** Firings that node-cron asks for just now. */
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

  /** The expression that is written to the run log. */
  get expression(): string {
    return this.#task.getPattern();
  }

  /** node-cron asks for a firing; it has an answer when the returned function is called. */
  ask(at: number): () => void {
    this.#handledUpTo = Math.max(this.#handledUpTo, at);
    this.#asked.add(at);
    return () => void this.#asked.delete(at);
  }

  /**
   * Whether node-cron may run what it asks for: no firing before that is missing.
   * @throws why that can't be found out
   */
  async mayRun(term: Term): Promise<boolean> {
    this.begin(term);
    const state = this.#state;
    if (state.at === 'planning') return await state.found;
    return state.at === 'current' && state.term === term;
  }

  /** A firing could not be run: it is missing. */
  invalidate(): void {
    if (this.#state.at === 'current') this.#state = { at: 'unknown' };
  }

  /** Looks for missed firings, unless that goes on already, or none is missing. */
  begin(term: Term): void {
    const state = this.#state;
    const isLookedFor = state.at === 'unknown' || (state.at === 'current' && state.term !== term);
    if (!isLookedFor || !this.#isStarted() || !term.isHeld()) return;
    const found = deferred<boolean>();
    found.promise.catch(ignore); // It is logged below.
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
        this.#context.logger.error({ task: this.#name, error }, 'missed firings could not be looked for');
        found.reject(error);
      }
    }
    found.resolve(false);
    // A term may have begun while a job of the one before hadn't ended.
    const next = this.#context.term();
    if (next !== undefined && next !== term) this.begin(next);
  }

  #enter(state: State): void {
    if (this.#state.at !== 'ended') this.#state = state;
  }

  /** Until none is missing any more, or the term, or the task, has ended or stopped. */
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
      // From here on it is known which firings were missed. What node-cron asks for just now is still to be run.
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

  /** Firings that are dropped are marked as run, so that they are reported once. */
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
        'missed firings of a task are run now',
      );
    if (dropped !== undefined) {
      const [after, upTo] = [dateAt(dropped.after), dateAt(dropped.upTo)];
      logger.warn({ task, after, upTo }, 'missed firings of a task are not run any more');
      await log.reserve({ task, at: dropped.upTo }, term, session, this.expression);
      this.#tell({ ...missed, dropped: { after, upTo } });
    } else this.#tell(missed);
  }

  #tell(missed: MissedFirings): void {
    try {
      this.#options.onMissed?.(missed);
    } catch (error) {
      this.#context.logger.error({ task: this.#name, error }, 'onMissed has thrown');
    }
  }

  async #runAll(firings: readonly number[], term: Term, session: Session): Promise<void> {
    const { log, runs } = this.#context;
    await runs.settled(this.#name);
    for (const at of firings) {
      if (!term.isHeld() || !this.#isStarted()) return;
      const firing = { task: this.#name, at };
      const isReserved = await log.reserve(firing, term, session, this.expression);
      // The reply may have come after the lease. The firing is reserved, and won't be run: once at most.
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
    // node-cron reports the start of a function before `execute` returns. A background task's isn't identified: it has no term.
    this.#task.on('execution:started', identify);
    const execution = this.#task.execute();
    this.#task.off('execution:started', identify);
    // A failure is the application's: node-cron has logged it, and emitted an event.
    execution.then(run.complete, run.complete);
    await run.ended; // Before the execution, if it may not take longer.
    forget?.();
  }

  /** node-cron goes through its firings. */
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

  /** There may be firings that are missing. */
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
