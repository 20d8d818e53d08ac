import { end, resign } from './disturbances.js';
import { LATE_GUARDIANS } from './guarded.js';
import { GUARDED_BOUND_MS, silentBoundMs } from './recovery.js';
import { silence } from './takeover-faults.js';
import type { Host, World } from './world.js';

/** Situations that the simulation arranges when all is well: chance alone would hardly ever bring them about. */
type Drill = (world: World) => Promise<void>;

/** Most of the time it has noticed the change before the observer looks. */
const ROUNDS = 3;
const LOOK_EVERY_MS = 25;
/** By then the session has tried each server. */
const LONGEST_SEARCH_MS = 10_000;

/** A guarded leader is killed: the next in line needn't wait for anything. */
async function killGuardedLeader(world: World): Promise<void> {
  const { scheduler, ledger, hosts } = world;
  const host = hosts.find(({ candidate, parent }) => candidate.isActing && parent?.knowsOfLeader);
  if (host === undefined || !isNextStanding(world) || !isRecorded(world, host)) return;
  const { id } = host.candidate;
  end(host, false);
  let waitedMs = 0;
  while (!hosts.some(({ candidate }) => candidate.isActing)) {
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

/** A leader falls silent: another one leads when its lease is over, and isn't kept waiting for the end of its session. */
async function silenceLeader(world: World): Promise<void> {
  const { ledger, hosts, faults, leaseMs } = world;
  const host = hosts.find(({ candidate }) => candidate.isActing);
  if (host === undefined || !isFollowedByLease(world, host)) return;
  world.endCalm();
  const mend = silence(world, host, faults);
  await untilReplaced(world, host, silentBoundMs(leaseMs));
  ledger.count('drills: a leader was silenced');
  mend();
  world.beginCalm();
}

export async function untilReplaced(world: World, host: Host, delayMs: number): Promise<void> {
  const { hosts, scheduler, ledger } = world;
  const { id } = host.candidate;
  const { record: first } = world;
  // For its priority the term may be given to a candidate that can't begin it: to the silent one, which is heard, hears nothing, and has joined
  // again; or to one whose session ends at that moment. Then it has to be taken once more.
  const isGivenOn = ({ record } = world) =>
    first.state === 'held' && record.state === 'held' && record.node !== first.node;
  let boundMs = delayMs;
  const isReplaced = () => hosts.some((each) => each !== host && each.candidate.isActing);
  let waitedMs = 0;
  while (!isReplaced() && waitedMs <= boundMs) {
    await scheduler.sleep(LOOK_EVERY_MS);
    waitedMs += LOOK_EVERY_MS;
    if (isGivenOn()) boundMs = 2 * delayMs;
  }
  if (!isReplaced())
    ledger.violate(
      'takeover',
      `no candidate took the place of ${id}, which was silent, in ${Math.round(boundMs)} ms`,
    );
  ledger.time('until a silent leader was replaced, in thousandths of the bound', (1000 * waitedMs) / boundMs);
}

/**
 * A guarded leader is killed, and its guardian stands still until another candidate has taken over. What the guardian does after
 * that is late, and changes nothing.
 */
async function comeLateAsGuardian(world: World): Promise<void> {
  const { scheduler, ledger, hosts, leaseMs } = world;
  const host = hosts.find(({ candidate, parent }) => candidate.isActing && parent?.knowsOfLeader);
  if (host?.parent === undefined || !isFollowedByLease(world, host)) return;
  const { clock } = host.parent.environment;
  clock.freeze();
  end(host, false);
  await untilReplaced(world, host, silentBoundMs(leaseMs));
  const lateBefore = ledger.counts.get(LATE_GUARDIANS) ?? 0;
  clock.thaw();
  await scheduler.sleep(GUARDED_BOUND_MS);
  if ((ledger.counts.get(LATE_GUARDIANS) ?? 0) > lateBefore)
    ledger.count('drills: a guardian came when its leader had been replaced');
  world.replace(host);
}

/** Whether the record names the leader. It doesn't if the leader leads by data that the servers have lost. */
function isRecorded({ record }: World, { candidate: { leadingNode } }: Host): boolean {
  return record.state === 'held' && leadingNode?.endsWith(record.node) === true;
}

/** Whether the next in line is a candidate, and not a node that came back with a backup. Such a node stays until its session ends. */
function isNextStanding({ hosts, queue }: World): boolean {
  const leads = (path: string) => hosts.some(({ candidate }) => candidate.leadingNode === path);
  const next = queue.find((path) => !leads(path));
  return next !== undefined && hosts.some(({ candidate }) => candidate.placePath === next);
}

/** Whether the next in line takes over from that leader by lease, or by a candidate with a priority in its place. */
export function isFollowedByLease(world: World, { candidate: { leadingNode } }: Host): boolean {
  const { hosts, queue, record } = world;
  if (record.state !== 'held' || !leadingNode?.endsWith(record.node)) return false;
  const waiting = queue.filter(
    (path) => !hosts.some(({ candidate }) => candidate.isActing && candidate.leadingNode === path),
  );
  const next = hosts.find(({ candidate }) => candidate.placePath === waiting[0]);
  // One whose heartbeat node was deleted notices that when it begins to prove, and joins again.
  return next?.candidate.followsByLease === true && waiting.every((path) => world.canProve(path));
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
 * server. For up to half a tick it answers as if it still led, and doesn't know who leads the election now.
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

/** Chooses one of the drills whose conditions are met. */
export async function drill(world: World): Promise<void> {
  const { observerHosts, isGuarded, faults } = world;
  const forObservers = observerHosts.length > 0 ? [leaveObserverBehind, comeToFormerLeader] : [];
  const possible: readonly Drill[] = [
    silenceLeader,
    ...(isGuarded ? [killGuardedLeader, comeLateAsGuardian] : []),
    ...forObservers,
  ];
  await faults.pick(possible)(world);
}
