import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LeaseCell, SharedLease } from '../../../src/lease/shared-lease.js';
import { msUntil } from '../../../src/platform/time/machine-instant.js';
import { RUNS_ALL } from '../../support/vitest/extent.js';
import { type Bounds, type Cell, explore, type Rules, SHIPPED, steppedAtomics } from './interleavings.js';

const TWO_THREADS: Bounds = { runs: 1, suspended: 0, heartbeats: 1, threads: 2, calls: 1 };
const SUSPENDED: Bounds = { runs: 1, suspended: 1, heartbeats: 1, threads: 1, calls: 2 };
const TWO_HEARTBEATS: Bounds = { runs: 2, suspended: 0, heartbeats: 2, threads: 1, calls: 1 };
/** The machine is suspended for longer than a lease, and a reply comes after that. */
const LATE_REPLY: Bounds = {
  ...{ runs: 1, suspended: 2, late: 0.5 },
  ...{ heartbeats: 1, threads: 1, calls: 1 },
};
/** A server grants a shorter lease. */
const SHORTENED: Bounds = { ...TWO_HEARTBEATS, isShortened: true, heartbeats: 1 };
/** They take half a minute. */
const LARGER: readonly (readonly [what: string, bounds: Bounds])[] = [
  ['two other threads, for longer', { ...TWO_THREADS, runs: 2, heartbeats: 2 }],
  ['a thread that asks three times', { ...SUSPENDED, calls: 3, heartbeats: 2 }],
];

const [REASON, LASTS, LAPSED] = [0, 0, 1] as const;
const sentAtIn = ({ times }: Cell) => ({
  monotonicMs: Number(Atomics.load(times, 0)) / 1e6,
  uptimeMs: Number(Atomics.load(times, 1)) / 1e6,
});
const lengthIn = ({ times }: Cell) => Number(Atomics.load(times, 2)) / 1e6;
const lapse = ({ numbers }: Cell) => {
  Atomics.compareExchange(numbers, REASON, LASTS, LAPSED);
  return 0;
};
const lasts = ({ numbers }: Cell) => Atomics.load(numbers, REASON) === LASTS;

const WRONG: readonly (readonly [what: string, bounds: Bounds, rules: Partial<Rules>])[] = [
  [
    'a thread reads the clocks before the ends',
    TWO_HEARTBEATS,
    {
      remainingMs: (cell) => {
        const now = { monotonicMs: cell.sources.monotonicMs(), uptimeMs: cell.sources.uptime?.readMs() ?? 0 };
        const { monotonicMs, uptimeMs } = sentAtIn(cell);
        const leftMs = Math.min(monotonicMs - now.monotonicMs, uptimeMs - now.uptimeMs) + lengthIn(cell);
        if (leftMs <= 0) return lapse(cell);
        return lasts(cell) ? leftMs : 0;
      },
    },
  ],
  [
    'a thread goes by the monotonic clock alone',
    SUSPENDED,
    {
      remainingMs: ({ cell, sources }) =>
        new LeaseCell(
          new SharedLease(cell.memory.lease, { monotonicMs: () => sources.monotonicMs() }),
          cell.memory.end,
        ).remainingMs(),
    },
  ],
  ['a lease counts from the reply', TWO_HEARTBEATS, { extend: ({ cell }) => cell.lease.provedAgo(() => 0) }],
  [
    'a thread that finds the lease over says so to no other thread',
    TWO_HEARTBEATS,
    {
      remainingMs: (cell) => {
        const leftMs = msUntil(sentAtIn(cell), cell.sources) + lengthIn(cell);
        return leftMs > 0 && lasts(cell) ? leftMs : 0;
      },
    },
  ],
  ['a flag stands in place of the clocks', TWO_THREADS, { remainingMs: (cell) => (lasts(cell) ? 1 : 0) }],
  [
    'a thread does not look at the reason',
    TWO_THREADS,
    {
      remainingMs: (cell) => {
        const leftMs = msUntil(sentAtIn(cell), cell.sources) + lengthIn(cell);
        return leftMs > 0 ? leftMs : lapse(cell);
      },
    },
  ],
  ['a cell is used for two terms', TWO_THREADS, { reusesCell: true }],
  [
    'the end of a lease does not fall',
    SHORTENED,
    {
      remainingMs: (cell) => {
        const leftMs = msUntil(sentAtIn(cell), cell.sources) + 2000;
        if (leftMs <= 0) return lapse(cell);
        return lasts(cell) ? leftMs : 0;
      },
    },
  ],
  [
    'a thread looks at the reason first',
    TWO_THREADS,
    {
      remainingMs: (cell) => {
        if (!lasts(cell)) return 0;
        const leftMs = msUntil(sentAtIn(cell), cell.sources) + lengthIn(cell);
        return leftMs > 0 ? leftMs : lapse(cell);
      },
    },
  ],
];

beforeEach(() => void vi.stubGlobal('Atomics', steppedAtomics));
afterEach(() => void vi.unstubAllGlobals());

describe('the shipped cell', () => {
  it.each([
    ['two other threads', TWO_THREADS],
    ['a thread that asks twice, on a machine that is suspended', SUSPENDED],
    ['another thread, through two heartbeats', TWO_HEARTBEATS],
    ['a thread, on a machine that was suspended before a late reply', LATE_REPLY],
    ['a thread, while a server grants a shorter lease', SHORTENED],
    ...(RUNS_ALL ? LARGER : []),
  ] as const)('is right in every interleaving of the thread of the term and %s', (_, bounds) => {
    const { states, broken } = explore(SHIPPED, bounds);
    expect(broken).toBeUndefined();
    expect(states).toBeGreaterThan(10_000);
  });
});

describe('the search of interleavings finds a wrong answer where', () => {
  it.each(WRONG)('%s', (_, bounds, rules) => {
    const { broken } = explore({ ...SHIPPED, ...rules }, bounds);
    expect(broken?.at(-1)).toMatch(/holds the term/);
  });
});
