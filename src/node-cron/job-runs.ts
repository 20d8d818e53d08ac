import type { Term } from '../election/term/term.js';
import { InvalidStateError } from '../errors.js';
import { onAbort } from '../platform/async/lazy-abort-controller.js';
import { deferred } from '../platform/async/promises.js';
import type { Logger } from '../platform/logging/logger.js';
import type { Clock, Timer } from '../platform/time/clock.js';
import { type Firing, keyOf } from './firing.js';

/** The part of a job's context that identifies the run. node-cron passes the context to the job. */
export interface JobContext {
  /** The time at which the run should begin. */
  readonly date: Date;
  /** The task, if node-cron names it. */
  readonly task?: { readonly name?: string } | undefined;
  /** The run, if node-cron names it. */
  readonly execution?: { readonly id: string } | undefined;
}

/** A running job. */
export interface JobRun {
  readonly firing: Firing;
  readonly term: Term;
  /** Resolves when the job has ended, or may not go on as the leader's work. */
  readonly ended: Promise<void>;
  readonly complete: () => void;
}

/** The running jobs of this process. Each counts as the leader's work. */
export class JobRuns {
  readonly #settleWithinMs: number | undefined;
  readonly #logger: Logger;
  readonly #byKey = new Map<string, JobRun>();
  /** The jobs that Conclave has begun to catch up, by the id of node-cron's execution. */
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

  /** Ends a job's part in the leader's work. Does nothing for a job that has ended. */
  complete(key: string): void {
    this.#byKey.get(key)?.complete();
  }

  /** Resolves when all jobs of the task that run now have ended. */
  async settled(task: string): Promise<void> {
    const running = [...this.#byKey.values()].filter(({ firing }) => firing.task === task);
    await Promise.all(running.map(({ ended }) => ended));
  }

  /** Notes which of node-cron's executions carries out `run`. Returns a function that forgets this. */
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
    if (run === undefined) throw new InvalidStateError('this coordinator runs no such job');
    return run;
  }

  #abandon(key: string): void {
    this.#logger.error({ key }, 'a job still runs after its term: giving leadership up anyway');
    this.complete(key);
  }
}
