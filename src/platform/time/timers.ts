import * as timers from 'node:timers';

/**
 * The process's own timers and clocks, as they were when Conclave was loaded. Fake timers of a test (vitest's, Jest's,
 * Sinon's, those of node:test) replace the globals: no heartbeat would be sent, and leases would go by a clock that stands
 * still. No other file uses the globals.
 */

// From the module, which most fakes don't replace: so it doesn't matter whether the fakes were there first.
export const { setTimeout, clearTimeout, setImmediate } = timers;

export const { queueMicrotask } = globalThis;

export const nextTick = process.nextTick.bind(process);

/** CLOCK_MONOTONIC, in nanoseconds: it counts from the same instant in every process of the machine. */
export const monotonicNs = process.hrtime.bigint;

const RealDate = Date;

/** The time of day. */
export function timeOfDay(): Date {
  return new RealDate();
}

/** An instant, from milliseconds since 1970. */
export function dateAt(ms: number): Date {
  return new RealDate(ms);
}
