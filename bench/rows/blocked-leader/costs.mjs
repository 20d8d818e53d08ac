/** What the thread costs a process whose event loop isn't blocked. Without the option and with it take turns. */
import { setTimeout as pause } from 'node:timers/promises';
import { inTurn, queueUp } from '../../harness/compare.mjs';
import { CONTESTANTS } from '../../harness/contestants.mjs';
import { Driver } from '../../harness/driver.mjs';
import { joinLine } from './line.mjs';
import { sessionOf, WAYS } from './settings.mjs';

/** @import { Child } from '../../harness/child.mjs' */
/** @import { Meter } from '../../harness/meter.mjs' */
/** @import { Way } from './settings.mjs' */
/** @typedef {Record<Way, number[][]>} Rounds the values of each round */
/** @typedef {ReturnType<typeof import('./settings.mjs').planOf>['costs']} Plan */

// So long that the thread has nothing to repeat meanwhile.
const LONG_SESSION_MS = 600_000;
/** Above the lease. */
const LONG_STALL_MS = LONG_SESSION_MS;
const CROWD = 15;
const READ = '/read';

/** @returns {Rounds} */
function noRounds() {
  return { without: [], with: [] };
}

/**
 * Measures in turns. The round before the first warms up.
 *
 * @template {{ way: Way }} T
 * @param {readonly T[]} all
 * @param {number} rounds
 * @param {(one: T, round: number) => Promise<number[]>} measure
 */
async function warmedUp(all, rounds, measure) {
  const took = noRounds();
  for (let round = -1; round < rounds; round++)
    for (const one of inTurn(all, round + 1)) {
      const times = await measure(one, round);
      if (round >= 0) took[one.way].push(times);
    }
  return took;
}

/** From `start()` until the candidate leads, in a new process, and the memory of that process then. @param {string} connect @param {number} rounds */
export async function starts(connect, rounds) {
  const [tookMs, rssMb] = [noRounds(), noRounds()];
  for (let round = 0; round < rounds; round++)
    for (const way of inTurn(WAYS, round)) {
      const { joined, end } = await joinLine(connect, `/start-${way}-${round}`, [sessionOf(way)]);
      await end();
      tookMs[way].push(joined.map((each) => each.tookMs));
      rssMb[way].push(joined.map((each) => each.rssMb));
    }
  return { tookMs, rssMb };
}

/** The processor time of an idle leader, in percent of one core, and the cost of `isHeld()`. @param {string} connect @param {Plan} plan */
export async function idleLeaders(connect, { rounds, idleMs }) {
  const [cpuPercent, isHeldUs] = [noRounds(), noRounds()];
  for (let round = 0; round < rounds; round++)
    for (const way of inTurn(WAYS, round)) {
      const { children, end } = await joinLine(connect, `/idle-${way}-${round}`, [sessionOf(way)]);
      try {
        for (const child of children) {
          const before = await child.ask('cpuMs');
          await pause(idleMs / rounds);
          const after = await child.ask('cpuMs');
          cpuPercent[way].push([(100 * (after.cpuMs - before.cpuMs)) / (after.atMs - before.atMs)]);
          isHeldUs[way].push([await child.ask('costOfIsHeld')]);
        }
      } finally {
        await end();
      }
    }
  return { cpuPercent, isHeldUs };
}

/** Reads, lock cycles and handovers, in microseconds. @param {string} connect @param {Meter} meter @param {Plan} plan */
export async function roundTrips(connect, meter, plan) {
  return {
    readUs: await reads(connect, plan),
    cycleUs: await withDrivers(connect, 'lock', plan, async (driver, path, { isWarmUp }) => {
      await driver.open(1);
      return await driver.cycle(path, isWarmUp ? plan.warmUp : plan.cycles);
    }),
    handoverUs: await withDrivers(connect, 'election', plan, async (driver, path, { isWarmUp }) => {
      await driver.open(CROWD);
      if (isWarmUp) return await driver.cycle(path, plan.warmUp / 3);
      await queueUp(driver, meter, path, CROWD);
      const took = [];
      for (let at = 0; at < plan.handovers; at++) took.push(await driver.hand());
      await driver.leave();
      return took;
    }),
  };
}

/** @param {string} connect @param {Plan} plan */
async function reads(connect, { rounds, warmUp, reads: count }) {
  const lines = await Promise.all(
    WAYS.map(async (way) => ({ way, line: await joinLine(connect, READ, [longSessionOf(way)]) })),
  );
  try {
    return await warmedUp(lines, rounds, async ({ line: { children } }, round) => {
      const [child] = /** @type {[Child]} */ (children);
      return await child.ask('read', { path: READ, count: round < 0 ? warmUp : count });
    });
  } finally {
    await Promise.all(lines.map(({ line }) => line.end()));
  }
}

/** @param {Way} way */
function longSessionOf(way) {
  return { sessionTimeoutMs: LONG_SESSION_MS, ...(way === 'with' && { maxStallMs: LONG_STALL_MS }) };
}

/**
 * Runs a task in turns on the program of one recipe.
 *
 * @param {string} connect
 * @param {'lock' | 'election'} recipe
 * @param {Plan} plan
 * @param {(driver: Driver, path: string, round: { isWarmUp: boolean }) => Promise<number[]>} task
 */
async function withDrivers(connect, recipe, { rounds }, task) {
  const command = CONTESTANTS.find(({ name }) => name === `Conclave ${recipe}`)?.command() ?? [];
  const drivers = await Promise.all(
    WAYS.map(async (way) => {
      const options = way === 'with' ? { maxStallMs: LONG_STALL_MS } : {};
      return {
        way,
        driver: await Driver.start(command, { connect, sessionMs: LONG_SESSION_MS, recipe, options }),
      };
    }),
  );
  try {
    return await warmedUp(drivers, rounds, async ({ way, driver }, round) =>
      task(driver, `/${recipe}-${way}-${round + 1}`, { isWarmUp: round < 0 }),
    );
  } finally {
    await Promise.all(drivers.map(({ driver }) => driver.kill()));
  }
}
