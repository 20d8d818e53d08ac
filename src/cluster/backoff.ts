import { InvalidOptionError } from '../errors.js';
import { checkMs, checkOptions } from '../options.js';

/** How often and how soon to try again; the names and the arithmetic are p-retry's. Times are in milliseconds. */
export interface RetryOptions {
  /** How often to try again after the first time; may be `Infinity`. @default Infinity for restarts, 4 for the hook */
  readonly retries?: number;
  /** By how much each pause is longer than the one before. @default 2 */
  readonly factor?: number;
  /** The first pause. @default 100 */
  readonly minTimeout?: number;
  /** The longest pause. @default 5000 */
  readonly maxTimeout?: number;
  /**
   * Whether to make each pause longer by a random part of up to its own length; where `maxTimeout` leaves no room for that,
   * pauses are spread over its upper half. @default true
   */
  readonly randomize?: boolean;
}

export type RetryPolicy = Required<RetryOptions>;

const KNOWN = ['retries', 'factor', 'minTimeout', 'maxTimeout', 'randomize'] as const;

/** @throws InvalidOptionError naming the option */
export function resolveRetryOptions(given: unknown, retries: number): RetryPolicy {
  const options = checkOptions<RetryOptions>('retry', given, KNOWN);
  const minTimeout = checkMs('retry.minTimeout', options.minTimeout) ?? 100;
  const policy = {
    retries: checkRetries(options.retries) ?? retries,
    factor: checkFactor(options.factor) ?? 2,
    minTimeout,
    maxTimeout: checkMs('retry.maxTimeout', options.maxTimeout) ?? Math.max(5000, minTimeout),
    randomize: options.randomize === undefined ? true : options.randomize,
  };
  if (policy.maxTimeout < minTimeout) {
    throw new InvalidOptionError(
      'retry.maxTimeout',
      policy.maxTimeout,
      `at least retry.minTimeout, which is ${minTimeout}`,
    );
  }
  if (typeof policy.randomize !== 'boolean')
    throw new InvalidOptionError('retry.randomize', policy.randomize, 'true or false');
  return policy;
}

/**
 * The pause after the `attempt`th attempt (from 1) has failed.
 *
 * @param random - evenly distributed over [0, 1)
 */
export function backoffMs(
  attempt: number,
  { factor, minTimeout, maxTimeout, randomize }: RetryPolicy,
  random: number,
): number {
  if (minTimeout === 0) return 0; // Times a factor that may be infinite by now.
  const shortest = minTimeout * factor ** (attempt - 1);
  if (!randomize) return Math.min(shortest, maxTimeout);
  // Where even the shortest pause would be over half the longest, all would come to have the same.
  const spread = Math.max(minTimeout, Math.min(shortest, maxTimeout / 2)) * (1 + random);
  return Math.min(spread, maxTimeout);
}

function checkRetries(value: unknown): number | undefined {
  if (value === undefined || value === Infinity) return value as number | undefined;
  if (!Number.isInteger(value) || (value as number) < 0)
    throw new InvalidOptionError('retry.retries', value, 'a whole number, 0 or more, or Infinity');
  return value as number;
}

function checkFactor(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 1)
    throw new InvalidOptionError('retry.factor', value, 'a number, 1 or more');
  return value;
}
