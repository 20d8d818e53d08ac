import { isDate } from 'node:util/types';
import type { Term } from '../election/term/term.js';
import { InvalidOptionError } from '../errors.js';
import { withTerm } from '../lease/current-term.js';
import { isEndOf } from '../lease/work-while-held.js';
import { type Deferred, deferred } from '../platform/async/promises.js';
import { runOutside, runWithin } from '../platform/async/work-context.js';
import { type Logger, withFields } from '../platform/logging/logger.js';
import { sleep } from '../platform/time/clock.js';
import { dateAt, fakedTimeOfDay } from '../platform/time/timers.js';
import { clockOf, type Leadership, sessionOf, takeoverMsOf } from './elector-or-supervisor.js';
import { type ResolvedJobOptions, timeIn } from './job-options.js';
import { type JobRun, limitedSignal, RunContext, type RunOutcome, runsAround } from './job-run.js';
import { isCutOff, type LastRun, MOST_ATTEMPTS } from './last-run.js';
import type { Leader, RunLog } from './run-log.js';
import {
  firingsBetween,
  isDueNow,
  isFar,
  nameOfCall,
  toSecond,
  type WaitingFiring,
  withFiring,
} from './waiting-firings.js';

/** What became of a firing in this process. */
export type JobOutcome =
  | 'succeeded'
  | 'failed'
  /** The end of the term has cut the run off. */
  | 'cut off'
  /** Not run: `lateMs` was over. */
  | 'too late'
  /** Not run: a later firing waited as well, or it had the name of a former one. */
  | 'superseded'
  /** Not run: its time isn't that of a firing, its note failed, or it was cut off too often. */
  | 'refused';

/** @internal What a job tells of a firing. */
export interface JobReport {
  readonly job: string;
  readonly outcome: JobOutcome;
  /** Of a run: how much later than the firing it began, and how long it took, in milliseconds. */
  readonly run?: { readonly lateMs: number; readonly tookMs: number };
}

/** @internal What the jobs of a process have in common. */
export interface JobContext {
  readonly leadership: Leadership;
  readonly log: RunLog;
  readonly logger: Logger;
  /** Hears what becomes of each firing. Doesn't throw. */
  tell(report: JobReport): void;
}

/** A firing, with the scheduler's call that waits for it, if one does. */
interface Firing<T> extends WaitingFiring {
  readonly call?: Deferred<T | undefined> | undefined;
  /** The runs that wait for it, because the call came from within them. */
  readonly within?: readonly RunContext[];
}

/** The run that is under way. Instants are by the clock of leases, times of day by that of the host. */
interface Running {
  readonly context: RunContext;
  readonly beganAt: number;
  readonly since: Date;
}

const LEAST_LATE_MS = 10_000;

/** After so many questions to the schedule, of which each may take 4 ms, other work has its turn. */
const QUESTIONS_BETWEEN_PAUSES = 4;

/**
 * A job in this process: the firings that wait for it, and the work that runs them in the terms of this process, one at a time. In a
 * process that doesn't lead, the firings wait for a term.
 */
export class Job<T> {
  readonly #name: string;
  readonly #work: (run: JobRun) => T | PromiseLike<T>;
  readonly #options: ResolvedJobOptions;
  readonly #context: JobContext;
  readonly #logger: Logger;
  /** In their order. */
  #waiting: readonly Firing<T>[] = [];
  /** Whether {@link #runAll} is under way. */
  #isWorking = false;
  #running: Running | undefined;
  /** The term for which the record was read, and earlier firings were looked for. */
  #lookedIn: Term | undefined;

  constructor(
    name: string,
    work: (run: JobRun) => T | PromiseLike<T>,
    options: ResolvedJobOptions,
    context: JobContext,
  ) {
    this.#name = name;
    this.#work = work;
    this.#options = options;
    this.#context = context;
    this.#logger = withFields(context.logger, { job: name });
  }

  /** The scheduler's call. Resolves when the firing has run here, or doesn't run here. */
  async fire(args: readonly unknown[]): Promise<T | undefined> {
    const at = this.#timeOf(args);
    if (at === undefined) return undefined;
    if (this.#heldTerm === undefined) return void this.#add({ at, kind: 'remembered' });
    const within = runsAround();
    if (this.#running !== undefined && within.includes(this.#running.context)) {
      // The run would wait for the call, and the call for the end of the run.
      this.#add({ at, kind: 'live' });
      return undefined;
    }
    const call = deferred<T | undefined>();
    this.#add({ at, kind: 'live', call, within });
    this.#wake();
    return await call.promise;
  }

  /** For how long a run has been under way, in milliseconds; `undefined` if none is. */
  get runningMs(): number | undefined {
    return this.#running && clockOf(this.#context.leadership).now() - this.#running.beganAt;
  }

  /** Runs what waits, if this process leads. Call it at the beginning of a term. */
  look(): void {
    const { recover, next } = this.#options;
    if (recover || next !== undefined || this.#waiting.length > 0) this.#wake();
  }

  /** `undefined` if it can't be the time of a firing. @throws InvalidOptionError if it isn't a time */
  #timeOf(args: readonly unknown[]): number | undefined {
    const { scheduledFor, atLeastMs } = this.#options;
    const told = scheduledFor === undefined ? timeIn(args) : scheduledFor(...args);
    if (told === undefined && scheduledFor === undefined) return nameOfCall(this.#now(), atLeastMs);
    if (!isDate(told) || Number.isNaN(told.getTime()))
      throw new InvalidOptionError('scheduledFor', told, 'a function that returns a valid Date');
    if (scheduledFor !== undefined) return told.getTime();
    if (!isFar(told.getTime(), this.#now(), this.#lateMs)) return toSecond(told.getTime());
    this.#logger.error(
      { at: told },
      'skipping a firing of a job: the time that its scheduler told is far from now',
    );
    this.#tell('refused');
    return undefined;
  }

  get #heldTerm(): Term | undefined {
    const { term } = this.#context.leadership;
    return term?.isHeld() ? term : undefined;
  }

  /** The time of day by which the schedulers of this process go, in milliseconds. */
  #now(): number {
    return (fakedTimeOfDay() ?? clockOf(this.#context.leadership).date()).getTime();
  }

  /** How late a firing may begin: at least so late that the next leader runs what came after the former one's last heartbeat. */
  get #lateMs(): number {
    return this.#options.lateMs ?? Math.max(LEAST_LATE_MS, 2 * takeoverMsOf(this.#context.leadership));
  }

  #tell(outcome: JobOutcome, run?: JobReport['run']): void {
    this.#context.tell({ job: this.#name, outcome, ...(run && { run }) });
  }

  #add(firing: Firing<T>): void {
    const { kept, left } = withFiring(this.#waiting, firing, this.#options.missed);
    this.#waiting = kept as readonly Firing<T>[];
    for (const each of left as readonly Firing<T>[]) {
      each.call?.resolve(undefined);
      // A replica that doesn't lead only remembers firings, and those that the schedule gives aren't lost one by one.
      if (each.kind === 'live') this.#superseded(each);
    }
  }

  #superseded({ at }: Firing<T>): void {
    this.#logger.warn(
      { at: dateAt(at), runningSince: this.#running?.since },
      'skipping a firing of a job: another one waits already, or has the same time',
    );
    this.#tell('superseded');
  }

  #wake(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    // The work goes on with later calls, so it isn't part of the lock or the term in which this call came.
    void runOutside(() => this.#runAll());
  }

  /** Runs firings until none waits, or the process doesn't lead. Never rejects. */
  async #runAll(): Promise<void> {
    for (;;) {
      const term = this.#heldTerm;
      const ready = term && (await this.#prepare(term));
      const firing = ready && this.#take(ready.last);
      if (firing !== undefined) await this.#runOne(firing, ready as Leader);
      else if (this.#heldTerm === term) {
        if (ready === undefined) this.#answerCalls();
        // Nothing was awaited since the look at the queue. Otherwise a call that came meanwhile would never run.
        this.#isWorking = false;
        return;
      }
    }
  }

  /** Finds the last run, and in a new term what earlier terms have left. `undefined` if that fails. */
  async #prepare(term: Term): Promise<(Leader & { readonly last: LastRun | undefined }) | undefined> {
    const { leadership, log } = this.#context;
    try {
      const leader = { term, session: await sessionOf(leadership, term) };
      const last = await log.lastRun(this.#name, leader);
      if (this.#lookedIn === term) return { ...leader, last };
      await this.#lookBack(leader, last);
      this.#lookedIn = term;
      return { ...leader, last: await log.lastRun(this.#name, leader) };
    } catch (error) {
      if (term.isHeld())
        this.#logger.error({ err: error }, 'no firing of a job is run now: its record could not be read');
      return undefined;
    }
  }

  /** @throws the reason of the term's signal, and what the run log throws */
  async #lookBack(leader: Leader, last: LastRun | undefined): Promise<void> {
    const { term, session } = leader;
    const { recover, next } = this.#options;
    if (last === undefined) return next === undefined ? undefined : await this.#watchFromNow(leader);
    if (recover && isCutOff(last, term.token)) await this.#recover(last, leader);
    if (next === undefined) return;
    const now = this.#now();
    let questions = 0;
    try {
      for (const at of firingsBetween(next, Math.max(last.at, now - this.#lateMs - 1), now)) {
        this.#add({ at, kind: 'missed' });
        if (++questions % QUESTIONS_BETWEEN_PAUSES === 0) await sleep(session.clock, 0, term.signal);
      }
    } catch (error) {
      term.signal.throwIfAborted(); // Otherwise the schedule has thrown it.
      this.#logger.error({ err: error }, 'next() of a job failed: missed firings may not be found');
    }
  }

  /** Notes that the job is there, so that a later leader finds the firings of an outage before the first run. Those that wait may run. */
  async #watchFromNow(leader: Leader): Promise<void> {
    const earliest = Math.min(toSecond(this.#now()), ...this.#waiting.map(({ at }) => at));
    const { log } = this.#context;
    await log.watchFrom(this.#name, earliest - Math.max(1, this.#options.atLeastMs), leader);
  }

  async #recover({ at, attempts = 1 }: LastRun, leader: Leader): Promise<void> {
    if (attempts < MOST_ATTEMPTS) return this.#add({ at, kind: 'cut off', attempts: attempts + 1 });
    const { log } = this.#context;
    await log.end(this.#name, leader);
    this.#logger.error(
      { at: dateAt(at), attempts },
      'a run of a job is not repeated again: each process that began it has ended during the run',
    );
    this.#tell('refused');
  }

  /** Takes the first firing that is due. Those that aren't are done, or too late. */
  #take(last: LastRun | undefined): Firing<T> | undefined {
    for (;;) {
      const [firing, ...others] = this.#waiting;
      if (firing === undefined) return undefined;
      this.#waiting = others;
      const due = this.#isDueNow(firing, last);
      if (due === 'due' || due === 'due, against a wrong clock') return firing;
      if (due === 'too late') {
        this.#logger.warn({ at: dateAt(firing.at) }, 'skipping a firing of a job: it is too late');
        this.#tell('too late');
      } else if (firing.kind === 'live' && firing.at === last?.at && this.#hasRun(last))
        this.#superseded(firing);
      firing.call?.resolve(undefined);
    }
  }

  #isDueNow(firing: Firing<T>, last: LastRun | undefined): ReturnType<typeof isDueNow> {
    const { atLeastMs } = this.#options;
    return isDueNow(firing, last, this.#now(), { lateMs: this.#lateMs, atLeastMs });
  }

  /** Whether that run was one of this process, in this term. */
  #hasRun({ token }: LastRun): boolean {
    return token === String(this.#lookedIn?.token);
  }

  /** Never rejects. */
  async #runOne(firing: Firing<T>, leader: Leader): Promise<void> {
    try {
      const outcome = await withTerm(leader.term, () => this.#runInTerm(firing, leader));
      this.#settle(firing, leader.term, outcome);
    } catch (error) {
      if (!leader.term.isHeld()) return this.#add(firing); // It wasn't begun. The next term of this process may run it.
      this.#logger.error(
        { at: dateAt(firing.at), err: error },
        'a firing of a job is not run: it could not be noted',
      );
      this.#tell('refused');
      firing.call?.resolve(undefined);
    }
  }

  /** Returns `undefined` if the firing was run before. @throws if the firing isn't begun */
  async #runInTerm(firing: Firing<T>, leader: Leader): Promise<RunOutcome<T> | undefined> {
    const { log } = this.#context;
    const { recover } = this.#options;
    const due = (last: LastRun | undefined) => {
      const answer = this.#isDueNow(firing, last);
      return answer === 'too late' ? 'done' : answer;
    };
    const mark = recover && ({ open: true, attempts: firing.attempts ?? 1 } as const);
    const begin = () => ({ outcome: this.#call(firing, leader.term) });
    const noted = { job: this.#name, at: firing.at };
    const begun = await log.begin(noted, leader, { due, ...(mark && { mark }) }, begin);
    const outcome = await begun?.outcome;
    if (recover && outcome !== undefined) await this.#end(outcome, leader);
    return outcome;
  }

  /** Calls the job at once. Never rejects. */
  async #call({ at, within = [] }: Firing<T>, term: Term): Promise<RunOutcome<T>> {
    const clock = clockOf(this.#context.leadership);
    const since = dateAt(this.#now());
    const running = { context: new RunContext(), beganAt: clock.now(), since };
    this.#running = running;
    const { maxRunMs } = this.#options;
    const onOver = () => {
      this.#logger.error(
        { at: dateAt(at), maxRunMs },
        'aborting the signal of a job: its run takes longer than maxRunMs',
      );
    };
    const limit =
      maxRunMs < Number.POSITIVE_INFINITY ? limitedSignal(term, clock, maxRunMs, onOver) : undefined;
    const signal = limit?.signal ?? term.signal;
    const work = this.#work;
    const run = { scheduledFor: dateAt(at), term, token: term.token, signal };
    const call = [running.context, ...within].reduce<() => T | PromiseLike<T>>(
      (inner, context) => () => runWithin(context, inner),
      () => work(run),
    );
    let outcome: RunOutcome<T>;
    try {
      outcome = { value: await call() };
    } catch (error) {
      outcome = { error };
    }
    limit?.end();
    running.context.finish();
    this.#running = undefined;
    const isCutOff = 'error' in outcome && isEndOf(term.signal, outcome.error);
    const lateMs = Math.max(0, since.getTime() - at);
    const tookMs = clock.now() - running.beganAt;
    this.#tell(isCutOff ? 'cut off' : 'error' in outcome ? 'failed' : 'succeeded', { lateMs, tookMs });
    return outcome;
  }

  /** Notes that the run has ended, or that the end of the term has cut it off. Never rejects. */
  async #end(outcome: RunOutcome<T>, leader: Leader): Promise<void> {
    const isCutOff = 'error' in outcome && leader.term.signal.aborted;
    try {
      await this.#context.log.end(this.#name, leader, isCutOff);
    } catch (error) {
      if (isCutOff) return; // The term is lost, and the note before says what the next leader must know.
      this.#logger.warn({ err: error }, 'the end of a run was not noted: the next leader repeats the run');
    }
  }

  #settle({ call, at }: Firing<T>, term: Term, outcome: RunOutcome<T> | undefined): void {
    if (outcome === undefined) return call?.resolve(undefined);
    if ('value' in outcome) return call?.resolve(outcome.value);
    const { error } = outcome;
    if (isEndOf(term.signal, error)) {
      this.#logger.warn({ at: dateAt(at) }, 'a run of a job was cut off by the end of the term');
      return call?.resolve(undefined);
    }
    if (call !== undefined) return call.reject(error);
    this.#logger.error({ at: dateAt(at), err: error }, 'a job failed');
  }

  /** The calls needn't wait for the next term. Their firings do. */
  #answerCalls(): void {
    this.#waiting = this.#waiting.map(({ call, within: _, ...firing }) => {
      call?.resolve(undefined);
      return firing.kind === 'live' ? { ...firing, kind: 'remembered' } : firing;
    });
  }
}
