import type { MachineInstant } from '../../src/platform/time/machine-instant.js';
import { Random } from '../support/seeded-random.js';
import type { Candidate } from './candidates/candidate.js';
import { repeatedForMs } from './candidates/repeat-checker.js';
import { ask, type WeighedFault } from './disturbances.js';
import { isFollowedByLease, untilReplaced } from './drills.js';
import { WORST_DRIFT } from './model/ensemble.js';
import { silentBoundMs } from './recovery.js';
import { HELD_BACK_FOR_MS } from './takeover-faults.js';
import type { Host, World } from './world.js';

/** The clocks of the processes run at rates within 1 %. */
const DRIFT = 1 + 2 * WORST_DRIFT;

/** Checks, when a thread has extended a lease, that the main thread hasn't stood still for too long. */
export function checkKept(
  { ledger, leaseMs, scheduler }: World,
  candidate: Candidate,
  sentAt: MachineInstant,
) {
  const { clock } = candidate.environment;
  const { maxStallMs } = candidate;
  const since = clock.standsSince;
  if (maxStallMs === undefined || since >= scheduler.now) return;
  ledger.count('leases extended while the main thread stood still');
  const endsAt =
    scheduler.now + clock.watched(() => (sentAt.monotonicMs as number) + leaseMs - clock.now()) * DRIFT;
  const keptMs = endsAt - since;
  const boundMs = repeatedForMs(maxStallMs) + DRIFT * leaseMs;
  ledger.time(
    'until a lease ends whose main thread stands still, in thousandths of the bound',
    (1000 * keptMs) / boundMs,
  );
  if (keptMs > boundMs)
    ledger.violate('stall', `a lease of ${candidate.id} is kept for ${Math.round(keptMs)} ms in a stall`);
}

/** A leader that has a thread. */
function leading({ hosts }: World): Host | undefined {
  return hosts.find(({ candidate }) => candidate.isActing && candidate.maxStallMs !== undefined);
}

function stallAgain(world: World, host: Host, random: Random, most: number): void {
  const { clock } = host.candidate.environment;
  let atMs = 0;
  for (let count = 1 + random.below(4); count > 0; count--) {
    const lastsMs = random.spread(0.05, most) * (world.maxStallMs ?? 0);
    world.later(atMs, () => clock.stall());
    world.later(atMs + lastsMs, () => clock.endStall());
    atMs += lastsMs + random.spread(1, world.leaseMs);
  }
}

function someThread(world: World, random: Random) {
  return (leading(world) ?? random.pick(world.hosts)).candidate.environment.thread;
}

/** Chance for late replies, in a stream of its own: the other faults of a world are the same with them and without. */
const STREAM = 6;
const SHARE_OF_WORLDS = 0.25;

/** Chance for the late replies in the world of that seed; `undefined` if it has none. */
export function lateRepliesOf(seed: number): Random | undefined {
  const random = new Random(seed, STREAM);
  return random.chance(SHARE_OF_WORLDS) ? random : undefined;
}

/**
 * A leader's heartbeat is committed, and the reply comes late. What it sends after that doesn't arrive. A lease that counted from the reply
 * would be longer by the time for which the reply was under way.
 */
export function silenceAfterLateReply(world: World, random: Random): void {
  const routes = leading(world)?.routes;
  if (routes === undefined) return;
  world.ledger.count('leaders silenced behind a late reply');
  const [there, back] = [routes.map((each) => each.there), routes.map((each) => each.back)];
  for (const link of back) link.cut();
  world.later(random.between(0.5, 0.95) * world.leaseMs, () => {
    for (const link of there) link.cut();
    for (const link of back) link.heal(HELD_BACK_FOR_MS);
    world.later(random.between(1, 2.5) * world.leaseMs, () => {
      for (const link of there) link.heal();
    });
  });
}

export const STALL_FAULTS: readonly WeighedFault[] = [
  [
    'a main thread stands still',
    40,
    (world, random) => {
      stallAgain(world, leading(world) ?? random.pick(world.hosts), random, random.pick([0.9, 2]));
      return undefined;
    },
  ],
  [
    'a main thread stands still, and its connection is lost',
    10,
    (world, random) => {
      const host = leading(world) ?? random.pick(world.hosts);
      stallAgain(world, host, random, 1.5);
      world.later(random.spread(1, world.leaseMs), () => {
        const isReset = random.chance(0.5);
        for (const wire of host.candidate.environment.wires) isReset ? wire.reset() : wire.sever();
      });
      return undefined;
    },
  ],
  [
    'a leader resigns, and its main thread stands still',
    15,
    (world, random) => {
      const host = leading(world);
      if (host === undefined) return undefined;
      ask(world, host.candidate, () => host.candidate.resign());
      world.later(random.spread(0.1, 50), () => stallAgain(world, host, random, 1.5));
      if (random.chance(0.5))
        world.later(random.spread(0.1, 20), () => {
          for (const wire of host.candidate.environment.wires) wire.sever();
        });
      return undefined;
    },
  ],
  [
    'a main thread stands still right after a claim',
    10,
    (world, random) => {
      world.onClaim = (host) => world.later(random.between(0, 5), () => stallAgain(world, host, random, 1.5));
      if (random.chance(0.7)) {
        const { leader } = world;
        if (leader !== undefined) ask(world, leader, () => leader.resign());
      }
      return undefined;
    },
  ],
  [
    'a thread stands still',
    10,
    (world, random) => {
      const machine = someThread(world, random)?.machine;
      machine?.stall();
      return machine && (() => machine.endStall());
    },
  ],
  [
    'a thread fails',
    8,
    (world, random) => {
      if (random.chance(0.5)) stallAgain(world, leading(world) ?? random.pick(world.hosts), random, 1);
      world.later(random.spread(1, world.leaseMs), () => someThread(world, random)?.die());
      return undefined;
    },
  ],
  [
    'messages between threads are late',
    8,
    (world, random) => someThread(world, random)?.slow(random.spread(5, 1000)),
  ],
];

const TRIES = 3;

/** When all is well, a stall shorter than `maxStallMs` costs no term, and a longer one costs it in time. */
export async function drillOfStalls(world: World): Promise<void> {
  const { faults, hosts, ensemble, scheduler } = world;
  const host = leading(world);
  if (host === undefined) return;
  const links = [...ensemble.routes, ...hosts.flatMap(({ routes }) => routes)].flatMap((each) => each.links);
  for (const link of links) link.losesPackets = false;
  await scheduler.sleep(5000); // By then packets that were lost have arrived.
  await (faults.chance(0.7) ? stallBriefly(world, host) : stallForLong(world, host));
  for (const link of links) link.losesPackets = true;
}

async function stallBriefly(world: World, host: Host): Promise<void> {
  const { faults, scheduler, ledger, leaseMs } = world;
  const { candidate } = host;
  const { clock } = candidate.environment;
  const maxStallMs = candidate.maxStallMs as number;
  for (let count = 0; count < TRIES; count++) {
    const { term, losses } = candidate;
    if (term === undefined || !candidate.isActing) return;
    const lastsMs =
      (faults.chance(0.4) ? faults.between(0.85, 0.99) : faults.between(0.05, 0.9)) * maxStallMs;
    clock.stall();
    await scheduler.sleep(lastsMs / DRIFT);
    clock.endStall();
    await scheduler.sleep(faults.spread(1, 2 * leaseMs));
    ledger.count('drills: a main thread stood still briefly');
    if (candidate.losses > losses)
      ledger.violate(
        'stall',
        `${candidate.id} lost its term in a stall of ${Math.round(lastsMs)} of ${Math.round(maxStallMs)} ms`,
      );
  }
}

async function stallForLong(world: World, host: Host): Promise<void> {
  const { leaseMs, ledger } = world;
  const { candidate } = host;
  if (!isFollowedByLease(world, host)) return;
  world.endCalm();
  candidate.environment.clock.stall();
  await untilReplaced(world, host, repeatedForMs(candidate.maxStallMs as number) + silentBoundMs(leaseMs));
  ledger.count('drills: a main thread stood still for too long');
  candidate.environment.clock.endStall();
  world.beginCalm();
}
