import { InvalidOptionError } from '../../errors.js';
import { checkMs, checkOptions } from '../checks.js';

/**
 * How often and how soon to try again. The names are those of p-retry. Each pause is twice as long as the one before, up to the longest, and
 * longer by a random time of up to its own length. If the longest leaves no room for that, pauses are spread over its upper half.
 */
export interface RetryOptions {
  /** How many times to try again after the first try; may be `Infinity`. @default Infinity for restarts, 4 for the clean-up hook */
  readonly retries?: number;
  /** The first pause, in milliseconds. @default 100 */
  readonly minTimeout?: number;
  /** The longest pause, in milliseconds; at least `minTimeout`. @default 5000, or `minTimeout` if that is longer */
  readonly maxTimeout?: number;
}

export type RetryPolicy = Required<RetryOptions>;

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
/** The names of {@link RetryOptions}. */
export const RETRY_OPTIONS = ['retries', 'minTimeout', 'maxTimeout'] as const;

/** @param name - the option's name, for the error */
export function resolveRetryOptions(given: unknown, retries: number, name = 'retry'): RetryPolicy {
  const options = checkOptions<RetryOptions>(name, given, RETRY_OPTIONS);
  const minTimeout = checkMs(`${name}.minTimeout`, options.minTimeout) ?? FIRST_PAUSE_MS;
  const policy = {
    retries: checkRetries(`${name}.retries`, options.retries) ?? retries,
    minTimeout,
    maxTimeout: checkMs(`${name}.maxTimeout`, options.maxTimeout) ?? Math.max(LONGEST_PAUSE_MS, minTimeout),
  };
  if (policy.maxTimeout < minTimeout) {
    const expected = `at least ${name}.minTimeout, which is ${minTimeout}`;
    throw new InvalidOptionError(`${name}.maxTimeout`, policy.maxTimeout, expected);
  }
  return policy;
}

/** The pause after the `attempt`th attempt (from 1) has failed, in milliseconds. `random` is evenly distributed over [0, 1). */
export function backoffMs(attempt: number, { minTimeout, maxTimeout }: RetryPolicy, random: number): number {
  // If even the shortest pause were over half the longest, all clients would end up with the same pause.
  const shortest = Math.max(minTimeout, exponentialPauseMs(attempt, minTimeout, maxTimeout / 2));
  return Math.min(shortest * (1 + random), maxTimeout);
}

/** An {@link exponentialPauseMs} with a random second half, so that many clients don't come back at once. `random` is from [0, 1). */
export function jitteredPauseMs(
  failures: number,
  random: number,
  firstMs = FIRST_PAUSE_MS,
  longestMs = LONGEST_PAUSE_MS,
): number {
  return exponentialPauseMs(failures, firstMs, longestMs) * (0.5 + random / 2);
}

/** The pause after `failures` failures in a row (from 1), without jitter: `factor` times as long each time, up to the longest. */
export function exponentialPauseMs(failures: number, firstMs: number, longestMs: number, factor = 2): number {
  if (firstMs === 0) return 0; // The power below may be infinite by now, and 0 times infinity isn't a number.
  return Math.min(longestMs, firstMs * factor ** (failures - 1));
}

function checkRetries(name: string, value: unknown): number | undefined {
  if (value === undefined || value === Infinity) return value as number | undefined;
  if (!Number.isInteger(value) || (value as number) < 0)
    throw new InvalidOptionError(name, value, 'a whole number, 0 or more, or Infinity');
  return value as number;
}
