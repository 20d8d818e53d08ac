/** Leaders that are blocked again and again beside busy loops, and leaders with a large heap. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { joinLine, startCandidate } from './line.mjs';
import { HEAP, sessionOf, WAYS } from './settings.mjs';

/** @import { Way } from './settings.mjs' */

const LOOP = fileURLToPath(new URL('../processes/busy-loop.mjs', import.meta.url));
export const LOOPS = 2;
/** How long the leader's loop turns between two blocks. */
export const PAUSE_MS = 100;

/** @typedef {{ blockMs: number, forMs: number, way: Way, lost: number, ledShare: number }} Busy */
/** @typedef {{ way: Way, tookMs: number, kept: boolean }} Collected */

/** @param {string} connect @param {readonly { blockMs: number, forMs: number }[]} plans @returns {Promise<Busy[]>} */
export async function besideBusyLoops(connect, plans) {
  const found = [];
  for (const { blockMs, forMs } of plans)
    for (const way of WAYS) {
      const session = sessionOf(way);
      const line = await joinLine(connect, `/busy-${blockMs}-${way}`, [session, session]);
      const loops = Array.from({ length: LOOPS }, () => fork(LOOP));
      try {
        const order = { blockMs, pauseMs: PAUSE_MS, forMs };
        const worked = await Promise.all(line.children.map((each) => each.ask('workInBlocks', order)));
        const sum = (/** @type {'lost' | 'ledMs'} */ what) =>
          worked.reduce((total, each) => total + each[what], 0);
        const tookMs = Math.max(...worked.map((each) => each.tookMs));
        found.push({ blockMs, forMs, way, lost: sum('lost'), ledShare: sum('ledMs') / tookMs });
      } finally {
        for (const loop of loops) loop.kill('SIGKILL');
        await line.end();
      }
    }
  return found;
}

/** Collects the garbage of a large heap, at once, while its process leads. @param {string} connect @returns {Promise<Collected[]>} */
export async function collections(connect) {
  const found = [];
  for (const way of WAYS) {
    const execArgv = ['--expose-gc', `--max-old-space-size=${(2 * HEAP.bytes) / 2 ** 20}`];
    const leader = startCandidate(execArgv);
    try {
      await leader.ask('fill', HEAP.bytes);
      await leader.ask('join', { connect, path: `/heap-${way}`, session: sessionOf(way, HEAP.leaseMs) });
      found.push({ way, ...(await leader.ask('collect')) });
    } finally {
      await leader.end();
    }
  }
  return found;
}
