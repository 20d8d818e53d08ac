import pRetry from 'p-retry';

export interface Failure {
  readonly error: unknown;
  /** 1 for the first try. */
  readonly attempt: number;
  /** How many retries are left; may be `Infinity`. */
  readonly retriesLeft: number;
}

/** Carries the error of a try past p-retry. */
class FailedTry extends Error {}

/**
 * Repeats `work` until it succeeds or no retry is left. p-retry counts the tries. It gets only errors that are made here, since
 * it doesn't retry after a `TypeError`, replaces thrown values that aren't errors, and has its own error that ends the retries.
 * The caller makes the pauses, because time comes from the injected clock. The caller also watches any signal, because p-retry
 * drops a result that arrives while its signal aborts.
 * @param onFailure - called after each failed try, including the last one, and awaited before the next. If it throws, the retries end
 * @throws the error of the last try or of `onFailure`
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
