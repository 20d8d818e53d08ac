import { end, resign } from './faults.js';
import { GUARDED_BOUND_MS } from './recovery.js';
import type { World } from './world.js';

/** What is tried on purpose when all is well otherwise: by chance alone it would hardly ever come about. */
type Drill = (world: World) => Promise<void>;

/** Most of the time it notices what happened before the observer has looked. */
const ROUNDS = 3;
const LOOK_EVERY_MS = 25;
/** By then the dialer has been at each server. */
const LONGEST_SEARCH_MS = 10_000;

/** A guarded leader is killed: the next in line needn't wait for anything. */
async function killGuardedLeader(world: World): Promise<void> {
  const { scheduler, ledger, hosts } = world;
  const host = hosts.find(({ candidate, parent }) => candidate.isActing && parent?.knowsOfLeader);
  if (host === undefined) return;
  const { seat, id } = host.candidate;
  end(host, false);
  let waitedMs = 0;
  while (!hosts.some(({ candidate }) => candidate.isActing && candidate.seat === seat)) {
    if (waitedMs > GUARDED_BOUND_MS) {
      ledger.violate('guardian', `no candidate took the place of ${id} in ${GUARDED_BOUND_MS} ms`);
      break;
    }
    await scheduler.sleep(LOOK_EVERY_MS);
    waitedMs += LOOK_EVERY_MS;
  }
  ledger.count('drills: a guarded leader was killed');
  ledger.time('until a guarded leader that was killed was replaced', waitedMs);
  world.replace(host);
}

/** An observer reaches no server while the leader changes: it says in time that it doesn't know who leads. */
async function leaveObserverBehind(world: World): Promise<void> {
  const { scheduler, ledger, observerHosts, surroundings } = world;
  world.endCalm();
  for (const { routes } of observerHosts) {
    const links = routes.flatMap((route) => route.links);
    for (const link of links) link.cut();
    resign(world);
    await scheduler.sleep(1.2 * surroundings.staleMs);
    ledger.count('drills: an observer was left behind');
    for (const link of links) link.heal();
  }
  world.beginCalm();
}

/**
 * The leading server stands still until the others have another leader, and goes on when an observer can reach no other
 * one: for up to half a tick it answers as if it still led, and knows nothing of who leads the election now.
 */
async function comeToFormerLeader(world: World): Promise<void> {
  const { scheduler, ledger, observerHosts, ensemble, surroundings } = world;
  const { tickMs, syncLimit } = ensemble.times;
  const [observerHost] = observerHosts;
  if (observerHost === undefined) return;
  const { routes, observer } = observerHost;
  world.endCalm();
  for (let round = 0; round < ROUNDS; round++) {
    const { leader } = ensemble;
    if (leader === undefined) break;
    const endStandstill = world.beginStandstill();
    leader.machine.freeze();
    // By then its clients have left it.
    await scheduler.sleep(surroundings.sessionTimeoutMs + (syncLimit + 2) * tickMs);
    resign(world);
    await scheduler.sleep(1000);
    const links = routes.filter((_, index) => index !== leader.index).flatMap((route) => route.links);
    for (const link of links) link.cut();
    for (const wire of observer.environment.wires) wire.reset();
    const isAsking = () => [...observer.environment.wires].some((wire) => wire.server === leader);
    for (let waitedMs = 0; !isAsking() && waitedMs < LONGEST_SEARCH_MS; waitedMs += LOOK_EVERY_MS)
      await scheduler.sleep(LOOK_EVERY_MS);
    leader.machine.thaw();
    await scheduler.sleep(2 * tickMs);
    for (const link of links) link.heal();
    endStandstill();
    ledger.count('drills: an observer came to a former leader');
  }
  world.beginCalm();
}

/** One of those for which there is what it takes. */
export async function drill(world: World): Promise<void> {
  const { observerHosts, isGuarded, faults } = world;
  const forObservers = observerHosts.length > 0 ? [leaveObserverBehind, comeToFormerLeader] : [];
  const possible: readonly Drill[] = [...(isGuarded ? [killGuardedLeader] : []), ...forObservers];
  if (possible.length > 0) await faults.pick(possible)(world);
}
