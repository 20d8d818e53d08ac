import pRetry from 'p-retry';

/** A try that failed. */
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
 * Does `work` until it succeeds, or its tries are used up.
 *
 * p-retry counts. It doesn't try again after a `TypeError`, takes what isn't an `Error` for one, and has an error of its
 * own that ends the tries: so it sees only ours. The pauses belong to the caller, because time comes from the injected clock; and so
 * does any signal, because p-retry drops a result that arrives while its signal aborts.
 *
 * @param onFailure - called after each failed try, the last one too, and waited for before the next; what it throws ends the tries
 * @throws what the last try threw, or `onFailure`
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
