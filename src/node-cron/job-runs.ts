import type { Term } from '../election/term/term.js';
import { InvalidStateError } from '../errors.js';
import { onAbort } from '../platform/async/lazy-abort.js';
import { deferred } from '../platform/async/promises.js';
import type { Logger } from '../platform/logging/logger.js';
import type { Clock, Timer } from '../platform/time/clock.js';
import { type Firing, keyOf } from './firing.js';

/** What node-cron passes to a job: the part that identifies the run. */
export interface JobContext {
  /** When the run was to begin. */
  readonly date: Date;
  /** The task, if node-cron says which. */
  readonly task?: { readonly name?: string } | undefined;
  /** The run, if node-cron says which. */
  readonly execution?: { readonly id: string } | undefined;
}

/** A job that runs. */
export interface JobRun {
  readonly firing: Firing;
  readonly term: Term;
  /** Resolves when the job has ended, or may not go on as the leader's work. */
  readonly ended: Promise<void>;
  readonly complete: () => void;
}

/** The jobs that run in this process: each counts as the leader's work. */
export class JobRuns {
  readonly #settleWithinMs: number | undefined;
  readonly #logger: Logger;
  readonly #byKey = new Map<string, JobRun>();
  /** Those that node-cron hasn't begun by its schedule, by the id of its execution. */
  readonly #byExecution = new Map<string, JobRun>();

  constructor(settleWithinMs: number | undefined, logger: Logger) {
    this.#settleWithinMs = settleWithinMs;
    this.#logger = logger;
  }

  /** From now on the job is the leader's work. */
  begin(firing: Firing, term: Term, clock: Clock): JobRun {
    const key = keyOf(firing);
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
      this.#byKey.delete(key);
      done.resolve();
    };
    const run = { firing, term, ended: done.promise, complete };
    this.#byKey.set(key, run);
    return run;
  }

  /** Harmless for a job that has ended. */
  complete(key: string): void {
    this.#byKey.get(key)?.complete();
  }

  /** Resolves when those jobs of the task have ended that run now. */
  async settled(task: string): Promise<void> {
    const running = [...this.#byKey.values()].filter(({ firing }) => firing.task === task);
    await Promise.all(running.map(({ ended }) => ended));
  }

  /** Says by which execution of node-cron's `run` is carried out. Returns a function that forgets it. */
  identify(run: JobRun, executionId: string): () => void {
    this.#byExecution.set(executionId, run);
    return () => void this.#byExecution.delete(executionId);
  }

  /** @throws InvalidStateError if this coordinator runs no such job in this process */
  of({ date, task, execution }: JobContext): JobRun {
    const name = task?.name;
    const run =
      this.#byExecution.get(execution?.id ?? '') ??
      (name === undefined ? undefined : this.#byKey.get(keyOf({ task: name, at: date.getTime() })));
    if (run === undefined) throw new InvalidStateError('no such job runs by this coordinator');
    return run;
  }

  #abandon(key: string): void {
    this.#logger.error({ key }, 'a job goes on after its term: leadership is given away all the same');
    this.complete(key);
  }
}
