import * as timers from 'node:timers';

/**
 * The process's own timers and clocks, as they were when Conclave was loaded. Fake timers of a test (vitest's, Jest's,
 * Sinon's, those of node:test) take the place of the globals: sessions would wait for ever for heartbeats that nobody sends,
 * and a lease would go by a clock that stands still. No other file uses the globals.
 */

// From the module: most fakes don't reach these, so here it doesn't matter which came first.
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
