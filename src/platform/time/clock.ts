import { type Abortable, onAbort } from '../async/lazy-abort.js';
import { clearTimeout, monotonicNs, setTimeout, timeOfDay } from './timers.js';
import { Uptime } from './uptime.js';

/** A timer that is running. The code that set it owns it and clears it. */
export interface Timer {
  /** Stops the timer. Harmless if the timer has run or was cleared before. */
  clear(): void;
}

/** Whether a timer keeps the process alive. */
export interface TimerOptions {
  /**
   * With `true` the timer alone doesn't keep the process alive. Conclave never sets it for a timer that ends a lease. @default
   * false
   */
  readonly background?: boolean;
}

/** Conclave's only source of time. Tests and simulations give their own clock. */
export interface Clock {
  /** Milliseconds since some fixed instant. It never goes back. Only differences have a meaning. */
  now(): number;
  /**
   * An instant that isn't later than `now()`, in milliseconds. It is the same, unless the machine was suspended since the last
   * call of `now`. It costs less, and serves for times that may be early and never late, as the beginning of a lease.
   *
   * @default `now`
   */
  early?(): number;
  /** The time of day, for people. Conclave never decides by it, because it jumps. */
  date(): Date;
  /** Runs `task` once, `ms` milliseconds from now or later. */
  after(ms: number, task: () => void, options?: TimerOptions): Timer;
}

// Uptime counts in steps of 10 ms. A difference of two readings can be too long by almost as much, and a difference of less than
// 20 ms to the other clock means nothing.
const UPTIME_GRANULARITY_MS = 20;

/** The readings of which a {@link SystemClock} is made, in milliseconds. */
export interface TimeSources {
  /** Monotonic and precise. It stands still while the machine is suspended (CLOCK_MONOTONIC). */
  monotonicMs(): number;
  /** Counts suspended time, in coarse steps (Linux: CLOCK_BOOTTIME). */
  uptimeMs(): number;
}

// Not `performance.now`, which takes time to load and counts from the start of the process. This clock counts from the same
// instant in all processes.
const monotonicMs = () => Number(monotonicNs()) / 1e6;
/** One object for all clocks, with one open file. */
let systemUptime: Uptime | undefined;
const systemSources: TimeSources = {
  monotonicMs,
  uptimeMs: () => {
    systemUptime ??= new Uptime(monotonicMs);
    return systemUptime.readMs();
  },
};

// In Node a longer delay wraps round to 1 ms.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The machine's clock. It is monotonic. On Linux, where the system counts that, it includes the time for which the machine was
 * suspended. A lease must not seem to last because the laptop's lid was closed or the guest was frozen.
 *
 * Not guaranteed: a hypervisor that stops every clock of its guest stops this clock, too. Only fencing covers that.
 */
export class SystemClock implements Clock {
  readonly #sources: TimeSources;
  readonly #originMs: number;
  #suspendedMs = 0;

  constructor(sources: TimeSources = systemSources) {
    this.#sources = sources;
    this.#originMs = sources.uptimeMs() - sources.monotonicMs();
  }

  now(): number {
    const monotonicMs = this.#sources.monotonicMs();
    const suspendedMs = this.#sources.uptimeMs() - monotonicMs - this.#originMs - UPTIME_GRANULARITY_MS;
    // Suspended time never becomes less, so that the sum of the two clocks doesn't go back.
    this.#suspendedMs = Math.max(this.#suspendedMs, suspendedMs);
    return monotonicMs + this.#suspendedMs;
  }

  early(): number {
    return this.#sources.monotonicMs() + this.#suspendedMs;
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

/** An instant that may be early and costs less than `now`: see {@link Clock.early}. */
export function lowerBoundNow(clock: Clock): number {
  return clock.early?.() ?? clock.now();
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

/** An instant that means the same in every process of this machine, to be sent to another process. */
export interface MachineInstant {
  /** The instant by the clock that stands still while the machine is suspended, in milliseconds. */
  readonly monotonicMs: number;
  /** The instant by the clock that goes on meanwhile, in milliseconds. */
  readonly uptimeMs: number;
}

/**
 * The instant `remainingMs()` milliseconds from now. `remainingMs` is called after the clocks were read, so that a pause in
 * between makes the instant earlier and never later.
 */
export function machineInstantIn(
  remainingMs: () => number,
  sources: TimeSources = systemSources,
): MachineInstant {
  const [monotonicMs, uptimeMs] = [sources.monotonicMs(), sources.uptimeMs()];
  const ms = remainingMs();
  return { monotonicMs: monotonicMs + ms, uptimeMs: uptimeMs + ms };
}

/**
 * The time until `instant`, in milliseconds, including the time for which the machine is suspended; negative after the instant.
 */
export function msUntil(instant: MachineInstant, sources: TimeSources = systemSources): number {
  return Math.min(
    instant.monotonicMs - sources.monotonicMs(),
    instant.uptimeMs + UPTIME_GRANULARITY_MS - sources.uptimeMs(),
  );
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
