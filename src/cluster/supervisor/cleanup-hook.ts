import type { Term } from '../../election/term/term.js';
import {
  CleanupAttemptError,
  CleanupFailedError,
  type DemotionReason,
  InvalidStateError,
} from '../../errors.js';
import { onAbort } from '../../platform/async/lazy-abort-controller.js';
import { deferred, ignore } from '../../platform/async/promises.js';
import type { Environment } from '../../platform/injected-environment.js';
import { backoffMs, type RetryPolicy } from '../../platform/retry/backoff.js';
import { retrying } from '../../platform/retry/retry.js';
import { type Clock, sleep } from '../../platform/time/clock.js';

/** One call of a clean-up hook. */
export interface CleanupAttempt {
  /** 1 for the first call after a loss, and one more for each that follows because the one before failed. */
  readonly attempt: number;
  /**
   * Aborts when `cleanupTimeoutMs` is over: the attempt counts as failed then, and the next one may begin. It also aborts when
   * you stop the supervisor while the attempt is under way. The supervisor waits for that attempt until the same time. If it
   * fails, one more may begin, which is the last.
   */
  readonly signal: AbortSignal;
  /**
   * Whether the supervisor was stopped before this call. If this call fails, there is no further call, and
   * the clean-up stays outstanding. Then `signal` aborts only when the time is over.
   */
  readonly stopping: boolean;
}

/** The loss of an election's candidate. */
export interface TermLoss {
  /** The term that was lost, if this process led. */
  readonly term: Term | undefined;
  /**
   * Why the term was lost: `lease-expired`, `session-expired`, `node-deleted`, `superseded`, `record-overwritten` or `refused`. It differs from the reason of the
   * term's signal if more is known by now, or if the term ended for another reason and was lost before its work had settled.
   *
   * Without a term: `session-expired`. With a term or without: `stopped` when the session was closed by another part of the
   * application, or the elector can't take part any more.
   */
  readonly reason: DemotionReason;
}

/** The loss, as the clean-up hook gets it. */
export interface SessionLoss extends TermLoss, CleanupAttempt {}

/** Decides whether to take part again, or to stop. If it returns nothing, that means `restart`. @see {@link ElectionSupervisorOptions.cleanup} */
export type CleanupHook = (
  loss: SessionLoss,
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook that returns nothing is the usual one
) => Promise<'restart' | 'stop' | void> | 'restart' | 'stop' | void;

/** One call of the hook, when it has ended. */
export interface EndedAttempt {
  readonly attempt: number;
  readonly tookMs: number;
  readonly error: CleanupAttemptError | undefined;
}

export interface CleanupCall<L extends object> {
  readonly hook: (known: L & CleanupAttempt) => Promise<unknown>;
  readonly loss: L;
  readonly cleanupTimeoutMs: number;
  readonly cleanupRetry: RetryPolicy;
  readonly environment: Pick<Environment, 'clock' | 'random'>;
  readonly onFailure: (error: CleanupAttemptError) => void; // Called after each failed attempt.
  readonly onAttempt: (attempt: EndedAttempt) => void; // Called after each attempt. Must not throw.
  readonly stop: AbortSignal; // Aborts when the supervisor is stopped.
}

/**
 * Calls the application's clean-up hook until it has succeeded, and at least once, even if the supervisor is stopped before.
 * After a stop it begins one more call at most, without a pause. It ends `cleanupTimeoutMs` after the stop at the latest, or after
 * its own call if that came later.
 *
 * @throws CleanupFailedError if the last attempt has failed
 */
export async function callCleanup<L extends object>(call: CleanupCall<L>): Promise<'restart' | 'stop'> {
  const { cleanupRetry: policy, environment, onFailure, stop, cleanupTimeoutMs: timeoutMs } = call;
  const { clock } = environment;
  let endAt = Number.POSITIVE_INFINITY;
  const unsubscribe = onAbort(stop, () => {
    endAt = clock.now() + timeoutMs;
  });
  let isLast = false;
  const attempt = (number: number) => {
    isLast = stop.aborted;
    return attemptCleanup(call, number, Math.min(timeoutMs, endAt - clock.now()));
  };
  try {
    return await retrying(attempt, policy.retries, async ({ error, attempt: attempts, retriesLeft }) => {
      const failed = error as CleanupAttemptError;
      onFailure(failed);
      if (isLast || retriesLeft <= 0 || clock.now() >= endAt)
        throw new CleanupFailedError(attempts, failed.cause);
      if (stop.aborted) return;
      // A stop ends the pause. The cause of the failure may be gone by then, and this is the last chance to call the hook.
      await sleep(clock, backoffMs(attempts, policy, environment.random()), stop).catch(ignore);
    });
  } finally {
    unsubscribe();
  }
}

async function attemptCleanup<L extends object>(
  { hook, loss, environment, stop, onAttempt }: CleanupCall<L>,
  attempt: number,
  limitMs: number,
): Promise<'restart' | 'stop'> {
  const { signal, late, end } = limit(environment.clock, limitMs, stop);
  const known = { ...loss, attempt, signal, stopping: stop.aborted };
  const beganAt = environment.clock.now();
  let error: CleanupAttemptError | undefined;
  try {
    const decision = await Promise.race([hook(known), late]);
    if (decision !== undefined && decision !== 'restart' && decision !== 'stop') {
      throw new Error(`it returned ${String(decision)}: expected 'restart', 'stop' or nothing`);
    }
    return decision ?? 'restart';
  } catch (cause) {
    error = new CleanupAttemptError(attempt, cause);
    throw error;
  } finally {
    end();
    onAttempt({ attempt, tookMs: environment.clock.now() - beganAt, error });
  }
}

/** One attempt's signal, and a promise that rejects when its time is over. */
function limit(clock: Clock, limitMs: number, stop: AbortSignal) {
  const controller = new AbortController();
  const late = deferred<never>();
  const timer = clock.after(limitMs, () => {
    const error = new Error(`it did not end within ${limitMs} ms`);
    controller.abort(error);
    late.reject(error);
  });
  const notice =
    'the supervisor was stopped: it waits for this call of the hook until the time of the call is over';
  // A call that begins after the stop is the only one, or the last. If its signal had aborted, a hook that checks it would do nothing.
  const unsubscribe = stop.aborted
    ? ignore
    : onAbort(stop, () => controller.abort(new InvalidStateError(notice)));
  const end = () => {
    timer.clear();
    unsubscribe();
  };
  return { signal: controller.signal, late: late.promise, end };
}
