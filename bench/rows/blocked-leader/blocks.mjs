/** What a blocked event loop costs: the leader's, for shorter and for longer than `maxStallMs`, and that of the next in line. */
import { setTimeout as pause } from 'node:timers/promises';
import { now } from '../../harness/clock.mjs';
import { joinLine } from './line.mjs';
import { HANG, LEASE_MS, sessionOf, WAYS } from './settings.mjs';

/** @import { Child } from '../../harness/child.mjs' */
/** @import { Way } from './settings.mjs' */

// More than a fifth of a session timeout. Within that the next candidate notices that it is next.
const SETTLE_MS = 1500;
/** The next in line is blocked for so long, and the leader is killed a moment after the beginning. */
const NEXT = { blockMs: 3000, killedAfterMs: 300 };

/**
 * @typedef {object} Blocked
 * @property {Way} way
 * @property {number} leaseMs
 * @property {number} blockMs
 * @property {import('../processes/blocked-candidate.mjs').Answers} main of the blocked thread
 * @property {import('../processes/blocked-candidate.mjs').Answers} thread of a worker, by a handle
 * @property {boolean} kept
 * @property {number | undefined} deniedAfterMs when `isHeld()` was `false` for the first time, from the beginning of the block
 * @property {number | undefined} replacedAfterMs when another candidate led, from the beginning of the block
 */

/** Blocks a leader once, beside a candidate that waits. @param {string} connect @param {{ path: string, way: Way, leaseMs: number, blockMs: number, maxStallMs?: number }} setting @returns {Promise<Blocked>} */
async function blockLeader(connect, { path, way, leaseMs, blockMs, maxStallMs }) {
  const session = sessionOf(way, leaseMs, maxStallMs);
  const line = await joinLine(connect, path, [session, session]);
  const [leader, next] = /** @type {[Child, Child]} */ (line.children);
  try {
    await pause(SETTLE_MS);
    const { beganAt, main, thread, kept } = await leader.ask('block', blockMs);
    /** @type {{ ledAt: number }[]} */
    const history = await next.ask('history');
    const deniedAt = [main.firstDeniedAt, thread.firstDeniedAt].filter((at) => at !== undefined);
    return {
      ...{ way, leaseMs, blockMs, main, thread, kept },
      deniedAfterMs: deniedAt.length === 0 ? undefined : Math.min(...deniedAt) - beganAt,
      replacedAfterMs: history[0] && history[0].ledAt - beganAt,
    };
  } finally {
    await line.end();
  }
}

/** @param {string} connect @param {{ blocksMs: readonly number[], leasesMs: readonly number[] }} plan */
export async function blocks(connect, { blocksMs, leasesMs }) {
  const found = [];
  for (const blockMs of blocksMs)
    for (const leaseMs of leasesMs)
      found.push(
        ...(await Promise.all(
          WAYS.map((way) =>
            blockLeader(connect, { path: `/block-${blockMs}-${leaseMs}-${way}`, way, leaseMs, blockMs }),
          ),
        )),
      );
  return found;
}

/** Leaders that are blocked for longer than `maxStallMs`. @param {string} connect @param {number} rounds */
export async function hangs(connect, rounds) {
  const found = [];
  for (let round = 0; round < rounds; round++)
    found.push(
      await blockLeader(connect, { path: `/hang-${round}`, way: 'with', leaseMs: LEASE_MS, ...HANG }),
    );
  return found;
}

/** The times until the third in line leads when the next one is blocked and the leader is killed. @param {string} connect @param {number} rounds */
export async function nexts(connect, rounds) {
  /** @type {Record<Way, number[]>} */
  const tookMs = { without: [], with: [] };
  for (let round = 0; round < rounds; round++)
    for (const way of WAYS) {
      const session = sessionOf(way);
      const line = await joinLine(connect, `/next-${way}-${round}`, [session, session, session]);
      const [leader, next, third] = /** @type {[Child, Child, Child]} */ (line.children);
      try {
        await pause(SETTLE_MS);
        const blocked = next.ask('block', NEXT.blockMs);
        await pause(NEXT.killedAfterMs);
        const killedAt = now();
        await leader.end();
        await Promise.all([third.ask('elected'), blocked]);
        const [led] = await third.ask('history');
        tookMs[way].push(led.ledAt - killedAt);
      } finally {
        await line.end();
      }
    }
  return tookMs;
}
