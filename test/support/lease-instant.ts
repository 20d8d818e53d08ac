import { type LeaseInstant, leaseAgeMs, leaseStart } from '../../src/platform/time/clock.js';
import { TestClock } from '../../src/testing/controls/test-clock.js';

/** The beginning of a lease when a clock with one kind of reading shows so many milliseconds. */
export function instantAt(ms: number): LeaseInstant {
  const clock = new TestClock();
  clock.jump(ms);
  return leaseStart(clock);
}

/** The reading of that clock at that instant. */
export function msOf(instant: LeaseInstant): number {
  return 0 - leaseAgeMs(new TestClock(), instant);
}
