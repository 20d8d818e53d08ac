/** Functions for the rows that compare contestants. */
import { setTimeout as pause } from 'node:timers/promises';
import { findContestants } from './contestants.mjs';
import { Driver } from './driver.mjs';
import { median, quantile } from './quantiles.mjs';

/** @typedef {ReturnType<typeof findContestants>[number]} Found */
/** @typedef {{ name: string, driver: Driver }} Running */

const LOOK_AGAIN_MS = 50;
/** How long the servers' state must stay the same, if it can be the expected one. */
const UNCHANGED_MS = 100;
/** How long the state must stay the same if it is not the expected one. After that time it won't become the expected one. */
const STUCK_MS = 1000;
const SETTLED_WITHIN_MS = 30_000;

/**
 * The contestants that take part.
 *
 * @param {import('./finding.mjs').Bench} bench
 * @param {(contestant: import('./contestants.mjs').Contestant) => boolean} [suits]
 * @returns {Found[]}
 */
export function chosen({ contestants, say }, suits = () => true) {
  return findContestants(
    say,
    (contestant) => suits(contestant) && (contestants?.includes(contestant.name) ?? true),
  );
}

/**
 * Starts a program for each contestant.
 *
 * @param {readonly Found[]} contestants
 * @param {{ connect: string, sessionMs: number }} place
 * @returns {Promise<Running[]>}
 */
export async function startAll(contestants, place) {
  return await Promise.all(
    contestants.map(async ({ name, command, recipe }) => ({
      name,
      driver: await Driver.start(command, { ...place, recipe }),
    })),
  );
}

/**
 * Lets `count` contenders join a queue, and waits until all have created their nodes and set their watches, by the servers'
 * counts. The program's answer isn't enough, because it comes as soon as the contenders have begun to join. Contenders of the queue
 * before may still be leaving.
 *
 * @param {Driver} driver
 * @param {import('./meter.mjs').Meter} meter
 * @param {string} path
 * @param {number} count
 */
export async function queueUp(driver, meter, path, count) {
  const before = await untilSettled(meter, () => true);
  await driver.queue(path, count);
  await settled(meter, before, count);
}

/**
 * Waits until there are `count` ephemeral nodes more than `before`, watches for all of them but the first, and until
 * nothing changes any more: some contenders set further watches.
 *
 * @param {import('./meter.mjs').Meter} meter
 * @param {import('./meter.mjs').Holdings} before
 * @param {number} count
 */
export async function settled(meter, before, count) {
  await untilSettled(
    meter,
    ({ ephemerals, watches }) =>
      ephemerals >= before.ephemerals + count && watches >= before.watches + count - 1,
  );
}

/**
 * Waits until nodes and watches of the servers have not changed for a moment if they are `complete`, for longer if they are
 * not, and for 30 s at most.
 *
 * @param {import('./meter.mjs').Meter} meter
 * @param {(holdings: import('./meter.mjs').Holdings) => boolean} complete
 */
export async function untilSettled(meter, complete) {
  const deadline = performance.now() + SETTLED_WITHIN_MS;
  let last = await meter.holdings();
  let since = performance.now();
  for (;;) {
    await pause(LOOK_AGAIN_MS);
    const now = await meter.holdings();
    if (now.ephemerals !== last.ephemerals || now.watches !== last.watches) since = performance.now();
    last = now;
    const unchangedMs = performance.now() - since;
    if (unchangedMs >= (complete(now) ? UNCHANGED_MS : STUCK_MS) || performance.now() > deadline) return now;
  }
}

/**
 * Returns all contestants, with another one first in each round, because the first contestant finds the servers as the last one left them.
 *
 * @template T
 * @param {readonly T[]} all
 * @param {number} round from 0
 * @returns {T[]}
 */
export function inTurn(all, round) {
  const first = round % Math.max(1, all.length);
  return [...all.slice(first), ...all.slice(0, first)];
}

/**
 * The ratio of two contestants: the median of the ratios of each round.
 *
 * @param {readonly (readonly number[])[]} ours the times of each round
 * @param {readonly (readonly number[])[]} theirs
 */
export function ratio(ours, theirs) {
  return median(ours.map((times, round) => median(times) / median(theirs[round] ?? [])));
}

/** @param {readonly (readonly number[])[]} rounds */
export function percentiles(rounds) {
  const times = rounds.flat();
  return { p50: median(times), p99: quantile(times, 0.99) };
}
