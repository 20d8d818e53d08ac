import pRetry from 'p-retry';
import { sleep } from '../clock.js';
import type { Term } from '../election/term.js';
import { CleanupAttemptError, CleanupFailedError, type DemotionReason } from '../errors.js';
import type { Environment } from '../session/environment.js';
import { backoffMs, type RetryPolicy } from './backoff.js';

/** What was lost, for the clean-up hook. */
export interface SessionLoss {
  /** The term that the loss ended, if this process led: its signal has the reason for which that ended. */
  readonly term: Term | undefined;
  /** `session-expired`, or `stopped` when no server would have the session any more. */
  readonly reason: DemotionReason;
  /** 1 for the first call after a loss, and one more for each that follows because the one before failed. */
  readonly attempt: number;
  /** Aborts when `cleanupTimeoutMs` is over: the attempt counts as failed then, and the next one may begin. */
  readonly signal: AbortSignal;
}

/** What the hook decides: to stand for election again, or to stop. Nothing means `restart`. */
export type CleanupDecision = 'restart' | 'stop';

/** @see {@link ElectionSupervisorOptions.cleanup} */
// biome-ignore lint/suspicious/noConfusingVoidType: a hook that returns nothing is the usual one
export type CleanupHook = (loss: SessionLoss) => Promise<CleanupDecision | void> | CleanupDecision | void;

/** All that calling the hook depends on. */
export interface CleanupCall {
  readonly hook: CleanupHook;
  readonly loss: Pick<SessionLoss, 'term' | 'reason'>;
  readonly timeoutMs: number;
  readonly policy: RetryPolicy;
  readonly environment: Pick<Environment, 'clock' | 'random'>;
  /** Called after each failed attempt. */
  readonly onFailure: (error: CleanupAttemptError) => void;
  /** Aborting it ends the tries: the attempt that is under way is waited for, and no other begins. */
  readonly signal: AbortSignal;
}

/**
 * Calls the application's clean-up hook until it has succeeded.
 *
 * @throws CleanupFailedError when the last attempt has failed, or the signal's reason if it aborts between two
 */
export async function callCleanup(call: CleanupCall): Promise<CleanupDecision> {
  const { policy, environment, onFailure, signal } = call;
  try {
    // p-retry counts; the pauses are ours, by the injected clock, so its own are 0. The signal stays outside: p-retry
    // would drop a success that arrives while it aborts. A TypeError would end its tries: ours wraps all errors.
    return await pRetry((attempt) => attemptCleanup(call, attempt), {
      retries: policy.retries,
      minTimeout: 0,
      onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
        onFailure(error as CleanupAttemptError);
        signal.throwIfAborted();
        if (retriesLeft > 0)
          await sleep(environment.clock, backoffMs(attemptNumber, policy, environment.random()), signal);
      },
    });
  } catch (error) {
    if (error instanceof CleanupAttemptError) throw new CleanupFailedError(error.attempt, error.cause);
    throw error;
  }
}

async function attemptCleanup(
  { hook, loss, timeoutMs, environment }: CleanupCall,
  attempt: number,
): Promise<CleanupDecision> {
  const tooLate = new AbortController();
  const late = new Promise<never>((_, reject) => {
    tooLate.signal.addEventListener('abort', () => reject(tooLate.signal.reason), { once: true });
  });
  const timer = environment.clock.after(timeoutMs, () =>
    tooLate.abort(new Error(`no end within ${timeoutMs} ms`)),
  );
  try {
    const decision = await Promise.race([callHook(hook, { ...loss, attempt, signal: tooLate.signal }), late]);
    if (decision !== undefined && decision !== 'restart' && decision !== 'stop') {
      throw new Error(`it decided ${String(decision)}: expected 'restart', 'stop' or nothing`);
    }
    return decision ?? 'restart';
  } catch (cause) {
    throw new CleanupAttemptError(attempt, cause);
  } finally {
    timer.clear();
  }
}

/** A hook that throws at once is one that rejects. */
async function callHook(hook: CleanupHook, loss: SessionLoss): Promise<unknown> {
  return await hook(loss);
}
