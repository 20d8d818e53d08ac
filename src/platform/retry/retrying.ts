import pRetry from 'p-retry';

export interface Failure {
  readonly error: unknown;
  /** 1 for the first try. */
  readonly attempt: number;
  /** How often it may be tried again; may be `Infinity`. */
  readonly retriesLeft: number;
}

/** Carries what a try threw past p-retry. */
class FailedTry extends Error {}

/**
 * Repeats `work` until it succeeds or no retry is left. p-retry counts. It sees only errors made here, since it doesn't retry
 * after a `TypeError`, replaces thrown values that aren't errors, and has an error of its own that ends the retries. The caller
 * makes the pauses, because time comes from the injected clock, and watches any signal, because p-retry drops a result that
 * arrives while its signal aborts.
 * @param onFailure - called after each failed try, the last too, and awaited before the next; what it throws ends the retries
 * @throws what the last try or `onFailure` threw
 */
export async function retrying<T>(
  work: (attempt: number) => Promise<T>,
  retries: number,
  onFailure: (failure: Failure) => Promise<void>,
): Promise<T> {
  const attempted = async (attempt: number) => {
    try {
      return await work(attempt);
    } catch (error) {
      throw new FailedTry('a try failed', { cause: error });
    }
  };
  try {
    return await pRetry(attempted, {
      retries,
      minTimeout: 0,
      onFailedAttempt: ({ error, attemptNumber, retriesLeft }) =>
        onFailure({ error: error.cause, attempt: attemptNumber, retriesLeft }),
    });
  } catch (error) {
    throw error instanceof FailedTry ? error.cause : error;
  }
}
