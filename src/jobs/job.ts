import type { Term } from '../election/term/term.js';
import { InvalidOptionError } from '../errors.js';
import { withTerm } from '../lease/current-term.js';
import { isEndOf } from '../lease/work-while-held.js';
import { runOutside } from '../platform/async/async-context.js';
import { type Deferred, deferred } from '../platform/async/promises.js';
import type { Logger } from '../platform/logging/logger.js';
import { sleep } from '../platform/time/clock.js';
import { dateAt } from '../platform/time/timers.js';
import { isCutOff, type LastRun } from './firing.js';
import { firingsBetween, isDueNow, type WaitingFiring, withFiring } from './firings.js';
import { type ResolvedJobOptions, timeIn } from './job-options.js';
import { clockOf, type Leadership, sessionOf } from './leadership.js';
import type { Leader, RunLog } from './run-log.js';

/** One run of a job: what the job gets. */
export interface JobRun {
  /** The time of the firing for which it runs. It is the same in each replica, and the job may begin later. */
  readonly scheduledFor: Date;
  /** The leader's term, for `isHeld()` before each step, and for `transaction()`. */
  readonly term: Term;
  /** The term's fencing token. */
  readonly token: bigint;
  /** The term's signal. It aborts when the job must end, because the term has ended. */
  readonly signal: AbortSignal;
}

/** @internal What the jobs of a process have in common. */
export interface JobContext {
  readonly leadership: Leadership;
  readonly log: RunLog;
  readonly logger: Logger;
}

/** A firing, with the scheduler's call that waits for it, if one does. */
interface Firing<T> extends WaitingFiring {
  readonly call?: Deferred<T | undefined> | undefined;
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

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
  /** In their order. */
  #waiting: readonly Firing<T>[] = [];
  /** Whether {@link #runAll} is under way. */
  #isWorking = false;
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
  }

  /** The scheduler's call. Resolves when the firing has run here, or doesn't run here. */
  async fire(args: readonly unknown[]): Promise<T | undefined> {
    const at = this.#timeOf(args);
    if (this.#heldTerm === undefined) return void this.#add({ at, kind: 'remembered' });
    const call = deferred<T | undefined>();
    this.#add({ at, kind: 'live', call });
    this.#wake();
    return await call.promise;
  }

  /** Runs what waits, if this process leads. Call it at the beginning of a term. */
  look(): void {
    const { recover, next } = this.#options;
    if (recover || next !== undefined || this.#waiting.length > 0) this.#wake();
  }

  /** @throws InvalidOptionError if it isn't a time */
  #timeOf(args: readonly unknown[]): number {
    const { scheduledFor } = this.#options;
    const time = scheduledFor === undefined ? timeIn(args) : scheduledFor(...args);
    if (time === undefined) return Math.floor(this.#now() / 1000) * 1000;
    if (time instanceof Date && !Number.isNaN(time.getTime())) return time.getTime();
    throw new InvalidOptionError('scheduledFor', time, 'a function that returns a valid Date');
  }

  get #heldTerm(): Term | undefined {
    const { term } = this.#context.leadership;
    return term?.isHeld() ? term : undefined;
  }

  #now(): number {
    return clockOf(this.#context.leadership).date().getTime();
  }

  #add(firing: Firing<T>): void {
    const { kept, left } = withFiring(this.#waiting, firing, this.#options.missed);
    this.#waiting = kept as readonly Firing<T>[];
    for (const each of left as readonly Firing<T>[]) each.call?.resolve(undefined);
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
    const { leadership, log, logger } = this.#context;
    try {
      const leader = { term, session: await sessionOf(leadership, term) };
      const last = await log.lastRun(this.#name, leader);
      if (this.#lookedIn !== term) await this.#lookBack(leader, last);
      this.#lookedIn = term;
      return { ...leader, last };
    } catch (error) {
      if (term.isHeld())
        logger.error(
          { job: this.#name, err: error },
          'no firing of a job is run now: its record could not be read',
        );
      return undefined;
    }
  }

  /** @throws the reason of the term's signal */
  async #lookBack({ term, session }: Leader, last: LastRun | undefined): Promise<void> {
    const { recover, next, lateMs } = this.#options;
    if (last === undefined) return; // The job is new.
    if (recover && isCutOff(last, term.token)) this.#add({ at: last.at, kind: 'cut off' });
    if (next === undefined) return;
    const now = this.#now();
    const past = firingsBetween(next, Math.max(last.at, now - lateMs - 1), now);
    for (let questions = 1; ; questions++) {
      const at = this.#nextOf(past);
      if (at === undefined) return;
      this.#add({ at, kind: 'missed' });
      if (questions % QUESTIONS_BETWEEN_PAUSES === 0) await sleep(session.clock, 0, term.signal);
    }
  }

  #nextOf(past: Generator<number, void>): number | undefined {
    try {
      return past.next().value ?? undefined;
    } catch (error) {
      const { logger } = this.#context;
      logger.error(
        { job: this.#name, err: error },
        'next() of a job failed: missed firings may not be found',
      );
      return undefined;
    }
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
        const { logger } = this.#context;
        logger.warn({ job: this.#name, at: dateAt(firing.at) }, 'skipping a firing of a job: it is too late');
      }
      firing.call?.resolve(undefined);
    }
  }

  #isDueNow(firing: Firing<T>, last: LastRun | undefined): ReturnType<typeof isDueNow> {
    return isDueNow(firing, last, this.#now(), this.#options);
  }

  /** Never rejects. */
  async #runOne(firing: Firing<T>, leader: Leader): Promise<void> {
    try {
      const outcome = await withTerm(leader.term, () => this.#runInTerm(firing, leader));
      this.#settle(firing, leader.term, outcome);
    } catch (error) {
      if (!leader.term.isHeld()) return this.#add(firing); // It wasn't begun. The next term of this process may run it.
      const { job, at } = { job: this.#name, at: dateAt(firing.at) };
      this.#context.logger.error(
        { job, at, err: error },
        'a firing of a job is not run: it could not be noted',
      );
      firing.call?.resolve(undefined);
    }
  }

  /** Returns `undefined` if the firing was run before. @throws if the firing isn't begun */
  async #runInTerm(firing: Firing<T>, leader: Leader): Promise<Outcome<T> | undefined> {
    const { log } = this.#context;
    const { recover: open } = this.#options;
    const due = (last: LastRun | undefined) => {
      const answer = this.#isDueNow(firing, last);
      return answer === 'too late' ? 'done' : answer;
    };
    const begin = () => ({ outcome: this.#call(firing.at, leader.term) });
    const begun = await log.begin({ job: this.#name, at: firing.at }, leader, { due, open }, begin);
    const outcome = await begun?.outcome;
    if (open && outcome !== undefined) await this.#end(outcome, leader);
    return outcome;
  }

  /** Calls the job at once. Never rejects. */
  async #call(at: number, term: Term): Promise<Outcome<T>> {
    const { token, signal } = term;
    try {
      return { value: await this.#work({ scheduledFor: dateAt(at), term, token, signal }) };
    } catch (error) {
      return { error };
    }
  }

  /** Notes that the run has ended, unless the end of the term has cut it off. Never rejects. */
  async #end(outcome: Outcome<T>, leader: Leader): Promise<void> {
    if ('error' in outcome && leader.term.signal.aborted) return;
    try {
      await this.#context.log.end(this.#name, leader);
    } catch (error) {
      const { logger } = this.#context;
      logger.warn(
        { job: this.#name, err: error },
        'the end of a run was not noted: the next leader repeats the run',
      );
    }
  }

  #settle({ call, at }: Firing<T>, term: Term, outcome: Outcome<T> | undefined): void {
    if (outcome === undefined) return call?.resolve(undefined);
    if ('value' in outcome) return call?.resolve(outcome.value);
    const { error } = outcome;
    if (isEndOf(term.signal, error)) return call?.resolve(undefined);
    if (call !== undefined) return call.reject(error);
    this.#context.logger.error({ job: this.#name, at: dateAt(at), err: error }, 'a job failed');
  }

  /** The calls needn't wait for the next term. Their firings do. */
  #answerCalls(): void {
    this.#waiting = this.#waiting.map(({ call, at, kind }) => {
      call?.resolve(undefined);
      return { at, kind: kind === 'live' ? 'remembered' : kind };
    });
  }
}
