import type { Term } from '../election/term/term.js';
import { onAbort } from '../platform/async/lazy-abort-controller.js';
import { runWithin, WorkContext, workContexts } from '../platform/async/work-context.js';
import type { Clock } from '../platform/time/clock.js';
import { dateAt } from '../platform/time/timers.js';

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

/**
 * Calls the job at once. Never rejects.
 *
 * @param contexts - that of the run, and those of the runs that wait for it
 * @param onOver - called when the run has taken `maxRunMs`
 */
export async function callJob<T>(
  work: (run: JobRun) => T | PromiseLike<T>,
  { at, term, contexts }: { at: number; term: Term; contexts: readonly [RunContext, ...RunContext[]] },
  { clock, maxRunMs, onOver }: { clock: Clock; maxRunMs: number; onOver: () => void },
): Promise<RunOutcome<T>> {
  const limit = maxRunMs === Number.POSITIVE_INFINITY ? undefined : limited(term, clock, maxRunMs, onOver);
  const signal = limit?.signal ?? term.signal;
  const run = { scheduledFor: dateAt(at), term, token: term.token, signal };
  const called = contexts.reduce<() => T | PromiseLike<T>>(
    (inner, context) => () => runWithin(context, inner),
    () => work(run),
  );
  try {
    return { value: await called() };
  } catch (error) {
    return { error };
  } finally {
    limit?.end();
    contexts[0].finish();
  }
}

/** The term's signal, which also aborts after `ms`. */
function limited(term: Term, clock: Clock, ms: number, onOver: () => void) {
  const controller = new AbortController();
  const unsubscribe = onAbort(term.signal, () => controller.abort(term.signal.reason));
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
