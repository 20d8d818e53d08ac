/** What the rows that compare contestants have in common. */
import { findContestants } from './contestants.mjs';
import { Driver } from './driver.mjs';
import { median, quantile } from './quantiles.mjs';

/** @typedef {ReturnType<typeof findContestants>[number]} Found */
/** @typedef {{ name: string, driver: Driver }} Running */

const LOOK_AGAIN_MS = 50;
/** What stays as it is for so long is as it should be, if it can be that. */
const UNCHANGED_MS = 100;
/** And otherwise it is as it will be. */
const STUCK_MS = 1000;
const SETTLED_WITHIN_MS = 30_000;

/**
 * Those that take part.
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
 * A program of each.
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
 * Puts `count` contenders in line, and waits until all have their place and know whom they wait for, as far as the servers
 * can tell: a program answers as soon as they have begun. Those of an earlier line may still be leaving when it is called.
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
 * Waits until `count` contenders more than `before` are in line, all but the first watch somebody, and nobody does
 * anything more: some watch other nodes as well.
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
 * Waits until what the servers keep doesn't change any more: for a moment if it is `complete`, for longer if it isn't, 30 s
 * at most.
 *
 * @param {import('./meter.mjs').Meter} meter
 * @param {(holdings: import('./meter.mjs').Holdings) => boolean} complete
 */
async function untilSettled(meter, complete) {
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
 * All of them, another one first in each round: who comes first finds the servers as the last one has left them.
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

/** @param {number} ms @returns {Promise<void>} */
export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * How one compares with another: the median of what each round says.
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
