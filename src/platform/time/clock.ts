import { type Abortable, onAbort } from '../async/lazy-abort.js';
import { clearTimeout, monotonicNs, setTimeout, timeOfDay } from './timers.js';
import { Uptime } from './uptime.js';

/** A timer that is running. The code that set it owns it and clears it. */
export interface Timer {
  /** Stops the timer. Harmless when it has run or was cleared. */
  clear(): void;
}

/** How a timer treats the process: a timer that only waits needn't keep it alive. */
export interface TimerOptions {
  /** `true`: the timer alone doesn't keep the process alive. Never for a timer that ends a lease. @default false */
  readonly background?: boolean;
}

/** Conclave's only source of time. Tests and simulations give their own. */
export interface Clock {
  /** Milliseconds since some fixed instant; never goes back. Only differences mean anything. */
  now(): number;
  /**
   * An instant that isn't later than now: the same, unless the machine was suspended since the last call of `now`. For times
   * that may be early and never late, as the beginning of a lease; it costs less.
   *
   * @default `now`
   */
  early?(): number;
  /** The time of day, for people. Never for a decision: it jumps. */
  date(): Date;
  /** Runs `task` once, `ms` milliseconds from now or later. */
  after(ms: number, task: () => void, options?: TimerOptions): Timer;
}

// Uptime counts in steps of 10 ms: a difference of two readings can be too long by almost as much, and a difference of less
// than 20 ms to the other clock means nothing.
const UPTIME_GRANULARITY_MS = 20;

/** The readings a {@link SystemClock} is made of, in milliseconds. */
export interface TimeSources {
  /** Monotonic, precise, stands still while the machine is suspended (CLOCK_MONOTONIC). */
  monotonicMs(): number;
  /** Counts suspended time, in coarse steps (Linux: CLOCK_BOOTTIME). */
  uptimeMs(): number;
}

// Not `performance.now`, which takes its time to load, and counts from the start of the process: this clock counts from the
// same instant in all processes.
const monotonicMs = () => Number(monotonicNs()) / 1e6;
/** One for all clocks, with one file open. */
let systemUptime: Uptime | undefined;
const systemSources: TimeSources = {
  monotonicMs,
  uptimeMs: () => {
    systemUptime ??= new Uptime(monotonicMs);
    return systemUptime.readMs();
  },
};

// A delay over this wraps round to 1 ms in Node.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The machine's clock: monotonic, and, where the system counts it (Linux), including the time that the machine was suspended. A
 * lease must not seem to last because the laptop's lid was closed or the guest was frozen.
 *
 * Not guaranteed: a hypervisor that stops every clock of its guest stops this one too. Only fencing covers that.
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
    // Suspended time never becomes less: the sum of two clocks that don't go back mustn't go back either.
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

/** A class, since there may be very many: smaller than an object with a function. */
class SystemTimer implements Timer {
  readonly #timeout: NodeJS.Timeout;

  constructor(timeout: NodeJS.Timeout) {
    this.#timeout = timeout;
  }

  clear(): void {
    clearTimeout(this.#timeout);
  }
}

/** An instant that means the same in every process of this machine: to be sent to another process. */
export interface MachineInstant {
  /** By the clock that stands still while the machine is suspended, in milliseconds. */
  readonly monotonicMs: number;
  /** By the clock that goes on meanwhile, in milliseconds. */
  readonly uptimeMs: number;
}

/**
 * The instant `remainingMs()` milliseconds from now. It is called after the clocks were read, so that a pause in between makes
 * the instant earlier, and never later.
 */
export function machineInstantIn(
  remainingMs: () => number,
  sources: TimeSources = systemSources,
): MachineInstant {
  const [monotonicMs, uptimeMs] = [sources.monotonicMs(), sources.uptimeMs()];
  const ms = remainingMs();
  return { monotonicMs: monotonicMs + ms, uptimeMs: uptimeMs + ms };
}

/** How long it is until `instant`, in milliseconds, including time while the machine is suspended; negative after it. */
export function msUntil(instant: MachineInstant, sources: TimeSources = systemSources): number {
  return Math.min(
    instant.monotonicMs - sources.monotonicMs(),
    instant.uptimeMs + UPTIME_GRANULARITY_MS - sources.uptimeMs(),
  );
}

/**
 * Runs `task` once after `ms` milliseconds without an answer. A timer that fires late shows that this process itself was busy or
 * stood still, and the answer may be there unread: so it waits once more for as long as it was late, and at most `ms`. For
 * time-outs of waits; never for the end of a lease.
 */
export function afterPendingInput(clock: Clock, ms: number, task: () => void): Timer {
  return new ListeningTimer(clock, ms, task);
}

/** A class, since there may be very many: an object and one function. */
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
    // Also when it is hardly late: sockets are read between two timers, and may not have been read before the first.
    this.#timer = this.#clock.after(Math.min(lateMs, this.#ms), this.#task);
  }
}

/**
 * Resolves `ms` milliseconds from now.
 *
 * @throws the signal's reason as soon as it aborts; the timer is cleared then
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
