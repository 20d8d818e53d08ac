import * as timers from 'node:timers';

/**
 * The process's own timers and clocks, as they were when Conclave was loaded. Fake timers of a test (of vitest, Jest, Sinon or node:test)
 * replace the globals. With them no heartbeat would be sent, and leases would use a stopped clock. No other file uses the globals.
 */

// They come from the module, which most fakes don't replace. So it doesn't matter whether the fakes were installed before.
export const { setTimeout, clearTimeout, setImmediate } = timers;

export const { queueMicrotask } = globalThis;

export const nextTick = process.nextTick.bind(process);

/** CLOCK_MONOTONIC, in nanoseconds. In Node it counts from the same instant in every process of the machine. */
export const monotonicNs = process.hrtime.bigint;

const RealDate = Date;

/** The time of day. */
export function timeOfDay(): Date {
  return new RealDate();
}

/** The time of day by which the application's schedulers go, if a test has replaced it by a fake; otherwise `undefined`. */
export function fakedTimeOfDay(): Date | undefined {
  return globalThis.Date === RealDate ? undefined : new globalThis.Date();
}

/** The instant `ms` milliseconds after 1970 began. */
export function dateAt(ms: number): Date {
  return new RealDate(ms);
}
