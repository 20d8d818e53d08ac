import { sleep } from '../../src/platform/time/clock.js';
import type { Random } from '../support/seeded-random.js';
import type { Candidate } from './candidates/candidate.js';
import type { SimulatedEnvironment } from './candidates/environment.js';
import type { Machine } from './machine.js';
import type { Server } from './model/server.js';
import type { Link, Route } from './network.js';
import { stopBoundMs } from './recovery.js';
import type { SimulatedWorld } from './simulated-world.js';
import type { Host, World } from './world.js';

/** A fault or a request. It returns a function that ends it, if it has to be ended. */
export type FaultOf<W> = (world: W, random: Random) => (() => void) | undefined;
export type Fault = FaultOf<World>;

/** How often it comes compared with the others, and whether it is possible now. */
export type WeighedFault = readonly [
  name: string,
  weight: number,
  fault: Fault,
  isPossible?: (world: World) => boolean,
];

export function cut(routes: readonly Route[], random: Random): () => void {
  const ways = random.pick(['both', 'both', 'there', 'back']);
  const links: Link[] = routes.flatMap(({ there, back }) =>
    ways === 'both' ? [there, back] : [ways === 'there' ? there : back],
  );
  for (const link of links) link.cut();
  return () => {
    for (const link of links) link.heal();
  };
}

export function slow(routes: readonly Route[], random: Random): () => void {
  const links = routes.flatMap((route) => route.links);
  for (const link of links) link.slowBy = random.spread(20, 3000);
  return () => {
    for (const link of links) link.slowBy = 0;
  };
}

export function freeze({ candidate }: Host): () => void {
  return stop(candidate.environment.clock);
}

/** The process ends. Its machine notifies the servers and the process's parent, unless the machine is gone as well. */
export function end({ candidate, parent }: Host, isMachineGone: boolean): void {
  kill(candidate.environment, isMachineGone);
  if (isMachineGone) parent?.die(true);
  else parent?.childEnded(true);
}

export function kill({ clock, wires }: SimulatedEnvironment, isMachineGone: boolean): void {
  for (const wire of wires) {
    if (isMachineGone) wire.sever();
    else wire.closeAtClient();
  }
  clock.kill();
}

/** The faults that any world may have. */
export const COMMON = {
  cutOff: (world, random) => cut(world.somePlace(random).routes, random),
  cutOffFromServer: (world, random) => cut([random.pick(world.somePlace(random).routes)], random),
  slow: (world, random) => slow(world.somePlace(random).routes, random),
  reset: (world, random) => {
    for (const wire of world.somePlace(random).environment.wires) wire.reset();
    return undefined;
  },
  forget: (world, random) => {
    for (const wire of world.somePlace(random).environment.wires) wire.sever();
    return undefined;
  },
  freeze: (world, random) => stop(world.somePlace(random).environment.clock),
  freezeServer: (world, random) => stop(world.someServer(random).machine),
  killServer: (world, random) => crash(world.someServer(random)),
  cutOffServer: (world, random) => cut(world.ensemble.routesOf(world.someServer(random)), random),
  slowServer: (world, random) => slow(world.ensemble.routesOf(world.someServer(random)), random),
} satisfies Record<string, FaultOf<SimulatedWorld>>;

function stop(machine: Machine): () => void {
  machine.freeze();
  return () => machine.thaw();
}

function crash(server: Server): () => void {
  server.kill();
  return () => server.restart();
}

export function resign(world: World): undefined {
  const { leader } = world;
  return leader && ask(world, leader, () => leader.resign());
}

/** Lets its application do something now, if its process runs. */
export function ask(world: World, candidate: Candidate, what: () => void): undefined {
  const { clock } = candidate.environment;
  clock.receive(what);
  world.scheduler.followUp();
}

/** A session that was being opened at the stop is closed after that, within a second and a half. */
export const CLOSED_WITHIN_MS = 2000;
/** Beside the third of a session timeout that the thread has for an answer: the messages that are under way. */
const THREAD_ENDS_WITHIN_MS = 100;

const stopping = new WeakSet<Candidate>();

/** {@link stopAndReplace} waits for its process, with a timer on the process's clock, and replaces it. */
export function isStopping(candidate: Candidate): boolean {
  return stopping.has(candidate);
}

/** Stops the process, checks how long that takes, and replaces it. */
export async function stopAndReplace(world: World, host: Host): Promise<void> {
  const { candidate } = host;
  const { clock } = candidate.environment;
  if (stopping.has(candidate)) return;
  stopping.add(candidate);
  const since = clock.now() - candidate.busyMs;
  await candidate.stop();
  const tookMs = clock.now() - candidate.busyMs - since;
  const { ledger, sessionTimeoutMs } = world.surroundings;
  const boundMs = stopBoundMs(sessionTimeoutMs, candidate.waits);
  ledger.time('until a candidate had stopped, in thousandths of the bound', (1000 * tookMs) / boundMs);
  if (tookMs > boundMs) ledger.violate('stop', `${candidate.id} took ${Math.round(tookMs)} ms`);
  await sleep(clock, CLOSED_WITHIN_MS);
  // The process waits for a thread that has yet to report the end of a connection, and ends it if it takes too long.
  if (candidate.environment.thread?.isLate === true)
    await sleep(clock, sessionTimeoutMs / 3 + THREAD_ENDS_WITHIN_MS);
  if (host.candidate === candidate && !candidate.isDead) world.retire(host);
}
