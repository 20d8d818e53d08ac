import { InvalidStateError } from '../../base-errors.js';
import { monotonicNs } from './timers.js';
import { systemUptime } from './uptime.js';

/** The readings of which a `SystemClock` is made, in milliseconds. */
export interface TimeSources {
  /** Monotonic and precise. It may stop while the machine is suspended (CLOCK_MONOTONIC). */
  monotonicMs(): number;
  /**
   * Counts suspended time as well, in steps (Linux: CLOCK_BOOTTIME), and is never ahead of the truth.
   * `undefined` on a system without such a clock.
   */
  readonly uptime?: { readMs(): number; readonly stepMs: number } | undefined;
  /** Whether `monotonicMs` counts from the same instant in all processes and threads. @default true */
  readonly isMonotonicShared?: boolean;
}

/** Beyond the step of the uptime. A difference to the other clock that is less than both means nothing. */
export const UPTIME_MARGIN_MS = 10;

// Not the clock of `performance`, which takes time to load and counts from the start of the process. In Node this clock counts from the
// same instant in all processes. In Bun and Deno it counts from the start of the process or thread.
const monotonicMs = () => Number(monotonicNs()) / 1e6;
/** One object for all clocks, with one open file. */
export const systemSources: TimeSources = {
  monotonicMs,
  uptime: systemUptime(monotonicMs),
  isMonotonicShared: !('bun' in process.versions || 'deno' in process.versions),
};

/** An instant that means the same in every process of this machine, to be sent to another process. */
export interface MachineInstant {
  /**
   * The instant by the clock that may stop while the machine is suspended, in milliseconds; `undefined` if each process or thread has
   * its own.
   */
  readonly monotonicMs?: number | undefined;
  /** The instant by the clock that goes on meanwhile, in milliseconds; `undefined` on a system without such a clock. */
  readonly uptimeMs?: number | undefined;
}

/**
 * The instant `remainingMs()` milliseconds from now. `remainingMs` is called after the clocks were read, so that a pause in
 * between makes the instant earlier and never later.
 *
 * @throws InvalidStateError on a system where no clock is the same for all processes and threads: Bun and Deno without `/proc/uptime`
 */
export function machineInstantIn(
  remainingMs: () => number,
  sources: TimeSources = systemSources,
): MachineInstant {
  const uptimeMs = sources.uptime?.readMs();
  const monotonicMs = sources.isMonotonicShared === false ? undefined : sources.monotonicMs();
  if (uptimeMs === undefined && monotonicMs === undefined)
    throw new InvalidStateError('this runtime has no clock here that all processes share: use Node');
  const ms = remainingMs();
  const after = (now: number | undefined) => (now === undefined ? undefined : now + ms);
  return { monotonicMs: after(monotonicMs), uptimeMs: after(uptimeMs) };
}

/** Whether {@link machineInstantIn} can be called here. */
export function threadsShareClock(sources: TimeSources = systemSources): boolean {
  return sources.uptime !== undefined || sources.isMonotonicShared !== false;
}

/** The time until `instant`, in milliseconds, including the time for which the machine is suspended; negative after the instant. */
export function msUntil(
  { monotonicMs, uptimeMs }: MachineInstant,
  sources: TimeSources = systemSources,
): number {
  const { uptime } = sources;
  let leftMs = Number.POSITIVE_INFINITY;
  if (monotonicMs !== undefined) leftMs = monotonicMs - sources.monotonicMs();
  if (uptime === undefined || uptimeMs === undefined) return leftMs;
  const now = uptime.readMs(); // Before the step, which it may show to be a finer one.
  return Math.min(leftMs, uptimeMs + uptime.stepMs + UPTIME_MARGIN_MS - now);
}
