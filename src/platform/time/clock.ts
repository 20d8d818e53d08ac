import { type Abortable, onAbort } from '../async/lazy-abort-controller.js';
import { inBatches } from '../collections/lists-and-sets.js';
import { systemSources, type TimeSources, UPTIME_MARGIN_MS } from './machine-instant.js';
import { clearTimeout, setImmediate, setTimeout, timeOfDay } from './timers.js';

/** A timer that is running. The code that set it owns it and clears it. */
export interface Timer {
  /** Stops the timer. Harmless if the timer has run or was cleared before. */
  clear(): void;
}

/** Whether a timer keeps the process alive. */
export interface TimerOptions {
  /** With `true` the timer alone doesn't keep the process alive. Conclave never sets it for a timer that ends a lease. @default false */
  readonly background?: boolean;
}

/**
 * Conclave's only source of time. Tests and simulations give their own clock.
 *
 * Two needs pull in opposite directions. A candidate that *waits* until another one's lease is over must not believe that more
 * time has passed than really has. The holder of a *lease* must not believe that less has. One reading can't be trusted for
 * both, since a process may be paused between any two steps. So there are two kinds of instants, and the
 * types keep them apart: waits go by {@link Clock.now}, leases by a {@link LeaseInstant}.
 */
export interface Clock {
  /**
   * For waits, timeouts and durations: milliseconds since some fixed instant. It never goes back. Between two calls it never
   * counts more time than has passed. It may count less: it may stop while the machine is suspended. Only differences have a meaning.
   */
  now(): number;
  /**
   * For leases: milliseconds since some fixed instant, which may be another one than that of `now`. It never goes back. From an
   * earlier `leaseStart` to a call of this it counts at least the time that passed until the call, including the time for which
   * the machine was suspended, less 30 ms at most. It may count more. Where the system's uptime has whole seconds, two seconds of
   * suspension may go unnoticed.
   *
   * @default `now`
   */
  leaseNow?(): number;
  /**
   * For the beginning of a lease: an instant that isn't later than the call, by the time of `leaseNow`. It costs less, because it
   * needn't find out whether the machine was suspended since `leaseNow` was called last.
   *
   * @default `leaseNow`
   */
  leaseStart?(): number;
  /** The time of day, for people. Conclave never decides by it, because it jumps. */
  date(): Date;
  /** Runs `task` once, `ms` milliseconds from now or later. */
  after(ms: number, task: () => void, options?: TimerOptions): Timer;
  /** @internal The clocks of which it is made, which all threads of the process read. @default the machine's */
  readonly sources?: TimeSources;
}

declare const leaseTime: unique symbol;
/**
 * An instant from which a lease may count. It is opaque, so that it can't be mixed with an instant of {@link Clock.now}. It has no
 * meaning outside of the process.
 */
export interface LeaseInstant {
  /** @internal It exists for the compiler alone. */
  readonly [leaseTime]: true;
}

// At runtime a lease instant is a number, since each node has one, and each reply.
const asInstant = (ms: number) => ms as unknown as LeaseInstant;
const asMs = (instant: LeaseInstant) => instant as unknown as number;

/** An instant that isn't later than this call. */
export function leaseStart(clock: Clock): LeaseInstant {
  // By the same time: a clock may have its own `leaseStart` only together with `leaseNow`.
  return asInstant(clock.leaseNow === undefined ? clock.now() : (clock.leaseStart?.() ?? clock.leaseNow()));
}

/** How long ago that was, in milliseconds: surely not longer, but for 30 ms, than the result. */
export function leaseAgeMs(clock: Clock, since: LeaseInstant): number {
  return leaseNow(clock) - asMs(since);
}

/**
 * How much is left of a lease that began then, in milliseconds; negative when it is over. The end is computed first: so a timer that
 * is set for the rest comes to the end, or nearer by all that the clock can tell apart.
 */
export function leaseLeftMs(clock: Clock, since: LeaseInstant, leaseMs: number): number {
  return asMs(since) + leaseMs - leaseNow(clock);
}

/**
 * As {@link leaseLeftMs}, or more by the time for which the machine was suspended since the clock was last asked. It costs less.
 * Never decide by it whether to act.
 */
export function leaseLeftAtMostMs(clock: Clock, since: LeaseInstant, leaseMs: number): number {
  return asMs(since) + leaseMs - asMs(leaseStart(clock));
}

/** Whether a lease that counts from `one` ends later than one that counts from `other`. */
export function isLater(one: LeaseInstant, other: LeaseInstant): boolean {
  return asMs(one) > asMs(other);
}

function leaseNow(clock: Clock): number {
  return clock.leaseNow?.() ?? clock.now();
}

// In Node a longer delay wraps round to 1 ms.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The machine's clock. {@link Clock.now} is its monotonic clock alone. Leases also count the time for which the machine was
 * suspended, by the machine's uptime: a lease must not seem to last because the laptop's lid was closed or the guest was frozen.
 *
 * Why leases can rely on it. `#suspendedMs` is the largest difference of uptime and monotonic clock so far. The uptime is always
 * read first. If the process is paused between the two readings, the difference is too small and never too large. So
 * `#suspendedMs` never exceeds the truth, and neither does `leaseStart`. And `leaseNow` is at least the uptime that it has read.
 *
 * Not guaranteed: a hypervisor that stops every clock of its guest stops this clock, too. Only fencing covers that.
 */
export class SystemClock implements Clock {
  /** @internal */
  readonly sources: TimeSources;
  #suspendedMs: number;

  constructor(sources: TimeSources = systemSources) {
    this.sources = sources;
    const { uptime } = sources;
    this.#suspendedMs = uptime === undefined ? 0 : uptime.readMs() - sources.monotonicMs();
  }

  now(): number {
    return this.sources.monotonicMs();
  }

  leaseNow(): number {
    const { uptime } = this.sources;
    if (uptime === undefined) return this.now();
    const uptimeMs = uptime.readMs();
    const monotonicMs = this.sources.monotonicMs();
    const suspendedMs = uptimeMs - monotonicMs - uptime.stepMs - UPTIME_MARGIN_MS;
    // Suspended time never becomes less, so that the sum of the two clocks doesn't go back.
    this.#suspendedMs = Math.max(this.#suspendedMs, suspendedMs);
    return monotonicMs + this.#suspendedMs;
  }

  leaseStart(): number {
    return this.sources.monotonicMs() + this.#suspendedMs;
  }

  date(): Date {
    return timeOfDay();
  }

  after(ms: number, task: () => void, options: TimerOptions = {}): Timer {
    if (ms > LONGEST_TIMER_MS) return this.#afterLong(ms, task, options);
    const timeout = setTimeout(task, Math.max(0, Math.ceil(ms)));
    if (options.background) timeout.unref();
    return new SystemTimer(timeout);
  }

  #afterLong(ms: number, task: () => void, options: TimerOptions): Timer {
    let timer = this.after(
      LONGEST_TIMER_MS,
      () => {
        timer = this.after(ms - LONGEST_TIMER_MS, task, options);
      },
      options,
    );
    return { clear: () => timer.clear() };
  }
}

/** A class, since there may be very many. It is smaller than an object with a function. */
class SystemTimer implements Timer {
  readonly #timeout: NodeJS.Timeout;

  constructor(timeout: NodeJS.Timeout) {
    this.#timeout = timeout;
  }

  clear(): void {
    clearTimeout(this.#timeout);
  }
}

/**
 * Runs `task` once after `ms` milliseconds without an answer. If the timer fires late, this process itself was busy or stood
 * still, and the answer may be there unread. So it then waits once more, for as long as it was late, and at most `ms`. Use it for
 * timeouts of waits, and never for the end of a lease.
 */
export function afterPendingInput(clock: Clock, ms: number, task: () => void): Timer {
  return new ListeningTimer(clock, ms, task);
}

/** A class, since there may be very many. It takes one object and one function. */
class ListeningTimer implements Timer {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #task: () => void;
  readonly #dueAt: number;
  #timer: Timer;

  constructor(clock: Clock, ms: number, task: () => void) {
    this.#clock = clock;
    this.#ms = ms;
    this.#task = task;
    this.#dueAt = clock.now() + ms;
    this.#timer = clock.after(ms, () => this.#goOn());
  }

  clear(): void {
    this.#timer.clear();
  }

  #goOn(): void {
    const lateMs = Math.max(0, this.#clock.now() - this.#dueAt);
    // It waits even if it is hardly late: sockets are read between two timers, and may not have been read before the first.
    this.#timer = this.#clock.after(Math.min(lateMs, this.#ms), this.#task);
  }
}

/**
 * A clock whose timers let this process read its pipes first. After a pause of the process its timers are due before it has read anything.
 * As {@link afterPendingInput} for a process that reads all that there is at once, and mustn't wait any longer.
 */
export function readingFirst(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    date: () => clock.date(),
    after: (ms, task, options) => clock.after(ms, () => setImmediate(task), options),
  };
}

/**
 * Resolves `ms` milliseconds from now.
 *
 * @throws the signal's reason as soon as the signal aborts; the timer is then cleared
 */
export function sleep(clock: Clock, ms: number, signal?: Abortable): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = clock.after(ms, () => {
      unsubscribe?.();
      resolve();
    });
    const unsubscribe =
      signal &&
      onAbort(signal, () => {
        timer.clear();
        reject(signal.reason);
      });
  });
}

/**
 * Splits a list as {@link inBatches} does. Between two batches the event loop turns: timers and other events are handled, also if each batch
 * is done at once.
 *
 * @throws the signal's reason as soon as the signal aborts between two batches
 */
export async function* batchesInTurns<T>(
  clock: Clock,
  all: readonly T[],
  most: number,
  signal?: Abortable,
): AsyncGenerator<T[], void, undefined> {
  for (const [at, batch] of inBatches(all, most).entries()) {
    if (at > 0) await sleep(clock, 0, signal);
    yield batch;
  }
}
