import type { Term } from '../election/term/term.js';
import { anyAbort } from '../platform/async/promises.js';
import { WorkContext, workContexts } from '../platform/async/work-context.js';
import type { Clock } from '../platform/time/clock.js';

/** One run of a job: what the job gets. */
export interface JobRun {
  /** The time of the firing for which it runs. It is the same in each replica, and the job may begin later. */
  readonly scheduledFor: Date;
  /** The leader's term, for `isHeld()` before each step, and for `transaction()`. */
  readonly term: Term;
  /** The term's fencing token. */
  readonly token: bigint;
  /** Aborts when the job must end: with the reason of the term's signal, or with a `TimeoutError` after `maxRunMs`. */
  readonly signal: AbortSignal;
}

/** How a run ended. */
export type RunOutcome<T> = { readonly value: T } | { readonly error: unknown };

/** The context of a run: which calls come from within it. */
export class RunContext extends WorkContext {}

/** The runs that the caller belongs to, the innermost first. */
export function runsAround(): readonly RunContext[] {
  return workContexts().filter((each) => each instanceof RunContext);
}

/** The term's signal, which also aborts after `ms`. Call `end` after the run. */
export function limitedSignal(term: Term, clock: Clock, ms: number, onOver: () => void) {
  const { controller, unsubscribe } = anyAbort(term.signal);
  const timer = clock.after(ms, () => {
    onOver();
    controller.abort(new DOMException(`the run has taken ${ms} ms, which is maxRunMs`, 'TimeoutError'));
  });
  const end = () => {
    unsubscribe();
    timer.clear();
  };
  return { signal: controller.signal, end };
}
