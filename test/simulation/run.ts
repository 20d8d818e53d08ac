import { drill } from './drills.js';
import { begin, replaceWhoGaveUp } from './faults.js';
import type { Violation } from './ledger.js';
import { goBy, type Rules } from './rules.js';
import { playShards } from './shards/play.js';
import { ShardWorld } from './shards/world.js';
import { drillOfStalls } from './stall-faults.js';
import { type FaultRate, World } from './world.js';

/** The run: the same values give the same run again. */
export interface Run {
  readonly seed: number;
  readonly hours: number;
  readonly rules: Rules;
  /** `shards`: a world of its own kind, with a group of shards. */
  readonly faultRate: FaultRate | 'shards';
}

export interface Report {
  readonly run: Run;
  readonly violations: readonly Violation[];
  readonly counts: ReadonlyMap<string, number>;
  readonly longest: ReadonlyMap<string, number>;
  /** Equal for equal runs. */
  readonly trace: number;
  readonly simulatedMs: number;
  /** How much processor time of this process it took. */
  readonly cpuMs: number;
}

const HOUR_MS = 3_600_000;
/** With `few`, half of all calms are longer than half a minute, and some last an hour. */
const LONGEST_CALM_MS: Record<FaultRate, number> = {
  few: HOUR_MS,
  many: 20_000,
  takeover: 20_000,
  stalls: 60_000,
};
/** How many faults at once, at most, and for how long. A fault that should hit a takeover needs a leader and a next in line. */
const EPISODES: Record<FaultRate, { readonly faults: number; readonly longestMs: number }> = {
  few: { faults: 4, longestMs: 90_000 },
  many: { faults: 4, longestMs: 90_000 },
  takeover: { faults: 2, longestMs: 40_000 },
  stalls: { faults: 2, longestMs: 40_000 },
};
const LOOK_EVERY_MS = 250;
/** By then sessions and work that overruns have ended, and so have the longest waits for locks and uses of locks. */
const QUIET_MS = 120_000;

/**
 * Runs one world from its beginning until all processes have stopped.
 *
 * @param isSought - with it the run ends at the first such violation, because a search needs no more of that world
 */
export async function simulate(run: Run, isSought?: (violation: Violation) => boolean): Promise<Report> {
  const { seed, hours, rules, faultRate } = run;
  const cpuBefore = process.cpuUsage();
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0; // Thousands of connections are lost, and no stack of theirs is read.
  goBy(rules);
  const world = faultRate === 'shards' ? new ShardWorld(seed) : new World(seed, rules, faultRate);
  const { scheduler, ledger } = world;
  const onUnhandled = (reason: unknown) => ledger.violate('unhandled rejection', String(reason));
  process.on('unhandledRejection', onUnhandled);
  try {
    let over = false;
    let found = false;
    ledger.onViolation = (violation) => {
      found ||= isSought?.(violation) === true;
    };
    world.start();
    const playing =
      world instanceof ShardWorld ? playShards(world, hours) : play(world, hours * HOUR_MS, world.faultRate);
    const script = playing.finally(() => {
      over = true;
    });
    await scheduler.run(() => over || found);
    if (!found) await script;
  } catch (error) {
    ledger.violate('the simulation itself', error instanceof Error ? error.message : String(error));
  } finally {
    process.off('unhandledRejection', onUnhandled);
    goBy('shipped');
    Error.stackTraceLimit = stackTraceLimit;
  }
  const { violations, counts, longest } = ledger;
  const { user, system } = process.cpuUsage(cpuBefore);
  const [trace, simulatedMs, cpuMs] = [scheduler.trace, scheduler.now, (user + system) / 1000];
  return { run, violations, counts, longest, trace, simulatedMs, cpuMs };
}

/** Again and again: faults, their end, and then a leader. At last all processes stop. */
async function play(world: World, lengthMs: number, faultRate: FaultRate): Promise<void> {
  const { scheduler, faults } = world;
  await untilLed(world, 'at the beginning');
  while (scheduler.now < lengthMs) {
    world.endCalm();
    const episodeMs = faults.spread(2000, EPISODES[faultRate].longestMs);
    for (let count = 1 + faults.below(EPISODES[faultRate].faults); count > 0; count--)
      world.later(faults.between(0, episodeMs), () => begin(world));
    await scheduler.sleep(episodeMs);
    world.heal();
    await untilLed(world, 'after all was healed');
    await scheduler.sleep(faults.spread(200, LONGEST_CALM_MS[faultRate]));
    checkCalm(world);
    replaceWhoGaveUp(world);
    if (world.isWell) await (world.maxStallMs === undefined ? drill : drillOfStalls)(world);
  }
  await end(world);
}

/** The leader at the beginning of the calm may have finished or resigned. But a candidate leads, or is about to. */
function checkCalm(world: World): void {
  const { ledger, leader } = world;
  ledger.count(leader === undefined ? 'calms that ended without a leader' : 'calms that ended with a leader');
  world.checkCalm();
}

async function untilLed(world: World, when: string): Promise<void> {
  const { scheduler, ledger, recoveryBoundMs } = world;
  let waitedMs = 0;
  while (!world.isLed) {
    if (waitedMs > recoveryBoundMs && world.isHaunted)
      return ledger.count('not led for nodes that came back');
    if (waitedMs > recoveryBoundMs) {
      ledger.violate('no leader', `${when}: not within ${recoveryBoundMs} ms`);
      return;
    }
    const { isHeldUp } = world;
    await scheduler.sleep(LOOK_EVERY_MS);
    if (!isHeldUp) waitedMs += LOOK_EVERY_MS;
    replaceWhoGaveUp(world);
  }
  ledger.time('until a candidate led again', waitedMs);
  ledger.time(
    'until a candidate led again, in thousandths of the bound',
    (1000 * waitedMs) / recoveryBoundMs,
  );
}

async function end(world: World): Promise<void> {
  const { scheduler, ledger, hosts } = world;
  world.heal();
  await scheduler.sleep(QUIET_MS);
  for (const { candidate } of world.surroundings.lockUses)
    if (!candidate.isDead) ledger.violate('unsettled', `${candidate.id} still uses a lock`);
  world.checkCalm();
  for (const { candidate } of hosts) void candidate.standDown();
  await scheduler.sleep(QUIET_MS);
  world.checkCalm();
  for (const { observer } of world.observerHosts) void observer.stop();
  for (const { parent } of hosts) if (parent?.isDead === false) void parent.close();
  await scheduler.sleep(QUIET_MS / 10);
  world.checkLeftovers('after all stepped down');
  for (const { candidate } of hosts) void candidate.stop();
  await scheduler.sleep(QUIET_MS);
  world.checkLeftovers('after all stopped');
  for (const { candidate, parent } of hosts)
    for (const each of [...candidate.leftovers, ...(parent?.leftovers ?? [])])
      ledger.violate('leftovers', `after all stopped: ${each}`);
  for (const { observer } of world.observerHosts)
    for (const each of observer.leftovers) ledger.violate('leftovers', `after all stopped: ${each}`);
  for (const each of ledger.unsettled) ledger.violate('unsettled', each);
}
