import { ignore } from '../../src/platform/async/promises.js';
import { SystemClock } from '../../src/platform/time/clock.js';
import type { TimeSources } from '../../src/platform/time/machine-instant.js';
import { ClockFaults } from './clock-faults.js';
import { findEach, replace, type Wrong } from './wrong.js';

/** Most worlds have clocks that are never off. */
const canShow = (seed: number) => ClockFaults.of(seed, ignore) !== undefined;
/** A margin of 20 ms covers finer steps. */
const hasWholeSeconds = (seed: number) => ClockFaults.of(seed, ignore)?.stepMs === 1000;

const TWO_LEADERS = /^two leaders: /;
const MARGIN_MS = 20;

/** A clock that keeps the largest difference of its sources, read in this order, as the time for which the machine was suspended. */
function readingFirst(first: 'monotonic' | 'uptime', marginMs = MARGIN_MS): (sources: TimeSources) => number {
  const suspendedMs = new WeakMap<TimeSources, number>();
  const uptimeOf = ({ uptime }: TimeSources) => uptime?.readMs() ?? 0;
  return (sources) => {
    let uptimeMs = first === 'uptime' ? uptimeOf(sources) : 0;
    const monotonicMs = sources.monotonicMs();
    if (first === 'monotonic') uptimeMs = uptimeOf(sources);
    const before = suspendedMs.get(sources) ?? uptimeMs - monotonicMs;
    const after = Math.max(before, uptimeMs - monotonicMs - marginMs);
    suspendedMs.set(sources, after);
    return monotonicMs + after;
  };
}

/** Makes all waits go by that clock. */
function waitBy(clock: (sources: TimeSources) => number): () => void {
  return replace(SystemClock.prototype, 'now', () => {
    return function (this: SystemClock) {
      return clock(this.sources);
    };
  });
}

const WRONG: readonly Wrong[] = [
  {
    what: 'a wait by a clock that reads its monotonic source first, and keeps what a pause adds',
    hint: 13,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    canShow,
    make: () => waitBy(readingFirst('monotonic')),
  },
  {
    what: 'a wait by a clock that trusts an uptime in whole seconds',
    hint: 218,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    canShow: hasWholeSeconds,
    make: () => waitBy(readingFirst('uptime')),
  },
  {
    what: 'a lease by a clock that stops while the machine is suspended',
    hint: 15,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    canShow,
    make: () =>
      replace(SystemClock.prototype, 'leaseNow', () => {
        return function (this: SystemClock) {
          return this.leaseStart();
        };
      }),
  },
];

findEach(WRONG);
