import { InvalidOptionError } from '../../errors.js';
import { deferred } from '../../platform/async/promises.js';
import { checkFunction, checkId, checkOptions, checkPositiveMs } from '../../platform/checks.js';
import { SystemClock, sleep } from '../../platform/time/clock.js';

/** How long a test waits, and what for. */
export interface WaitOptions {
  /**
   * After how many milliseconds the wait fails; by the system's clock, except for {@link TestClock.advanceUntil}.
   * @default 10000, and 600000 of a TestClock
   */
  readonly timeoutMs?: number;
  /** Names what is awaited, for the error's message. */
  readonly what?: string;
}

/** An object with events: Conclave's, and Node's `EventEmitter`. */
export interface EventSource {
  /** Calls `listener` at each such event. */
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  /** Takes a listener away. */
  off(event: string, listener: (...args: unknown[]) => void): unknown;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const LOOK_AGAIN_MS = 5;
const systemClock = new SystemClock();

/**
 * Resolves with the arguments of the next such event. Call it before the action that leads to the event, and await it after.
 *
 * @throws Error if it doesn't come in time, naming it
 * @throws InvalidOptionError if an argument is wrong, or an object of Conclave's has no such event
 */
export function nextEvent<Args extends unknown[] = unknown[]>(
  source: EventSource,
  event: string,
  options?: WaitOptions,
): Promise<Args> {
  checkSource(source);
  const { timeoutMs, what = `the event '${event}'` } = checkWaitOptions(options);
  const error = waitedTooLong(what, timeoutMs); // Made here, so that its stack names the caller.
  const next = deferred<Args>();
  const listener = (...args: unknown[]) => {
    source.off(event, listener);
    timer.clear();
    next.resolve(args as Args);
  };
  source.on(event, listener); // Throws if the source has no such event. So it comes before the timer, whose `off` would throw as well.
  const timer = systemClock.after(timeoutMs, () => {
    source.off(event, listener);
    next.reject(error);
  });
  return next.promise;
}

/**
 * Calls `condition` every few milliseconds and resolves with its first value that isn't falsy. For changes without an event.
 *
 * @throws Error if there is none in time, naming `what`
 * @throws InvalidOptionError if an argument is wrong
 * @throws what `condition` throws
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  options?: WaitOptions,
): Promise<Exclude<T, false | null | undefined | 0 | 0n | ''>> {
  if (checkFunction('condition', condition) === undefined)
    throw new InvalidOptionError('condition', condition, 'a function');
  const { timeoutMs, what = 'the awaited condition' } = checkWaitOptions(options);
  const lastMs = systemClock.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value) return value as Exclude<T, false | null | undefined | 0 | 0n | ''>;
    if (systemClock.now() >= lastMs) throw waitedTooLong(what, timeoutMs);
    await sleep(systemClock, LOOK_AGAIN_MS);
  }
}

/**
 * An array to which the names of these events are added as they are emitted. For asserting an order.
 *
 * @throws InvalidOptionError if `source` has no events
 */
export function recordEvents(source: EventSource, ...events: readonly string[]): readonly string[] {
  checkSource(source);
  const seen: string[] = [];
  for (const event of events) source.on(event, () => void seen.push(event));
  return seen;
}

function checkSource(source: EventSource): void {
  if (typeof source?.on !== 'function' || typeof source.off !== 'function')
    throw new InvalidOptionError('source', source, 'something with the methods on and off');
}

/** @internal */
export function checkWaitOptions(
  given: unknown,
  longestMs = DEFAULT_TIMEOUT_MS,
): { timeoutMs: number; what: string | undefined } {
  const options = checkOptions<WaitOptions>('options', given, ['timeoutMs', 'what']);
  const what = checkId('what', options.what);
  const timeoutMs = checkPositiveMs('timeoutMs', options.timeoutMs, longestMs);
  return { timeoutMs, what };
}

/** @internal */
export function waitedTooLong(what: string, timeoutMs: number): Error {
  return new Error(`${what} did not come within ${timeoutMs} ms`);
}
