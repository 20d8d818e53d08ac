/** The settings of the row `blocked-leader`. */

export const SESSION_MS = 6000;
export const LEASE_MS = 500;
export const TICK_MS = 2000;
/** Above all blocks that the term is to outlast. */
export const MAX_STALL_MS = 25_000;
/** Below the block, so that another candidate is to lead. */
export const HANG = { maxStallMs: 2000, blockMs: 4000 };
export const HEAP = { bytes: 3.5 * 2 ** 30, leaseMs: 300 };
const SHORTEST_BLOCK_MS = 1000;

/** Without the option and with it, in turns. @typedef {'without' | 'with'} Way */
export const WAYS = /** @type {const} */ (['without', 'with']);

/** The session's options. @param {Way} way @param {number} [leaseMs] @param {number} [maxStallMs] */
export function sessionOf(way, leaseMs = LEASE_MS, maxStallMs = MAX_STALL_MS) {
  return { sessionTimeoutMs: SESSION_MS, leaseMs, ...(way === 'with' && { maxStallMs }) };
}

/** @param {boolean} quick */
export function planOf(quick) {
  return quick
    ? {
        blocksMs: [SHORTEST_BLOCK_MS],
        leasesMs: [LEASE_MS],
        hangs: 1,
        nexts: 1,
        failovers: { rounds: 1, elections: 4 },
        busy: [{ blockMs: 700, forMs: 4000 }],
        starts: 3,
        costs: { rounds: 2, warmUp: 200, cycles: 100, reads: 200, handovers: 7, idleMs: 2000 },
        hasHeap: false,
      }
    : {
        blocksMs: [SHORTEST_BLOCK_MS, 5000, 20_000],
        leasesMs: [2000, LEASE_MS],
        hangs: 4,
        nexts: 2,
        failovers: { rounds: 2, elections: 10 },
        busy: [
          { blockMs: 700, forMs: 60_000 },
          { blockMs: 300, forMs: 110_000 },
        ],
        starts: 9,
        costs: { rounds: 5, warmUp: 3000, cycles: 1000, reads: 3000, handovers: 14, idleMs: 10_000 },
        hasHeap: true,
      };
}
