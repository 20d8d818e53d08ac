import { revokeLeader } from '../../src/election/revoke-leader.js';
import { ignore } from '../../src/platform/async/promises.js';
import { heartbeatPathOf } from '../../src/queue/names-and-order.js';
import type { Random } from '../support/seeded-random.js';
import { ELECTION } from './candidates/candidate.js';
import {
  ask,
  cut,
  end,
  type Fault,
  freeze,
  resign,
  stopAndReplace,
  type WeighedFault,
} from './disturbances.js';
import { type Host, isHeartbeatNode, type World } from './world.js';

/**
 * Faults at the moments at which one candidate takes over from another. Chance alone would hardly ever hit these moments. The
 * faults end by themselves.
 */
type TakeoverFault = (world: World, random: Random) => void;

const DELAYED_HEARTBEATS = 12;
/** In these, held-back packets arrive soon. */
export const HELD_BACK_FOR_MS = 5;

/** The ways in which a process falls silent: it stands still, nothing comes from it or to it, or it is gone with its machine. */
const SILENCES = ['frozen', 'frozen', 'cut off', 'cut off', 'gone'] as const;

/** No server hears of the process any more, or the process hears of no server. Returns a function that ends this. */
export function silence(world: World, host: Host, random: Random): () => void {
  const { candidate } = host;
  const how = random.pick(SILENCES);
  world.ledger.count(`leaders silenced: ${how}`);
  switch (how) {
    case 'frozen':
      return freeze(host);
    case 'cut off':
      return cut(host.routes, random);
    case 'gone':
      if (!candidate.isDead) end(host, true);
      return () => {
        if (host.candidate.isDead) world.replace(host);
      };
  }
}

function leadingHost({ hosts }: World, random: Random): Host | undefined {
  const leading = hosts.filter(({ candidate }) => candidate.isActing);
  return leading.length > 0 ? random.pick(leading) : undefined;
}

/** Lasts about as long as another candidate needs to follow, by lease or by session. */
function silenceForAWhile(world: World, host: Host, random: Random): void {
  const mend = silence(world, host, random);
  world.clockFaults?.silenceBegins();
  world.later(random.spread(0.5 * world.leaseMs, 1.5 * world.surroundings.sessionTimeoutMs), () => {
    world.clockFaults?.silenceEnds();
    mend();
  });
}

/** The others' packets take longer, by less than a lease. */
function slowOthers({ hosts, leaseMs }: World, except: Host, random: Random): () => void {
  const links = hosts
    .filter((host) => host !== except)
    .flatMap(({ routes }) => routes.flatMap((each) => each.links));
  for (const link of links) link.slowBy = random.between(0.02, 0.2) * leaseMs;
  return () => {
    for (const link of links) link.slowBy = 0;
  };
}

/** Sometimes the leader writes right before, and sometimes the others' packets come late. */
function silenceLeader(world: World, random: Random): void {
  const host = leadingHost(world, random);
  if (host === undefined) return;
  if (random.chance(0.4))
    world.later(random.spread(world.leaseMs, 3 * world.leaseMs), slowOthers(world, host, random));
  world.later(random.between(0, world.leaseMs), () => {
    if (random.chance(0.7)) ask(world, host.candidate, () => host.candidate.write());
    world.later(random.between(3, 30), () => silenceForAWhile(world, host, random));
  });
}

/**
 * The leader's packets come late, again and again, by about as much as its lease allows. Mostly the others' packets come late, too. Otherwise
 * their last read comes right before their claim.
 */
function delayHeartbeats(world: World, random: Random): void {
  const host = leadingHost(world, random);
  if (host === undefined) return;
  const links = host.routes.map(({ there }) => there);
  let atMs = 0;
  for (let count = 0; count < DELAYED_HEARTBEATS; count++) {
    const lateMs = random.between(0.6, 1) * world.leaseMs;
    world.later(atMs, () => {
      for (const link of links) link.cut();
    });
    world.later(atMs + lateMs, () => {
      for (const link of links) link.heal(HELD_BACK_FOR_MS);
    });
    atMs += lateMs + random.between(0.3, 1) * world.leaseMs;
  }
  if (random.chance(0.7)) world.later(atMs, slowOthers(world, host, random));
}

/** Its node goes before its session does, and before its lease does. */
function deleteNodeOfSilentLeader(world: World, random: Random): void {
  const host = leadingHost(world, random);
  const node = host?.candidate.leadingNode;
  if (host === undefined || node === undefined) return;
  world.later(random.between(0, world.leaseMs / 2), () => {
    silenceForAWhile(world, host, random);
    world.later(random.spread(1, world.leaseMs), () => world.ensemble.leader?.deleteAsOperator(node));
  });
}

/** If that host leads, its heartbeat node and the version of that, by the newest state of any server. */
function heartbeatNodeOfLeader({ ensemble }: World, { candidate }: Host) {
  const { leadingNode } = candidate;
  if (leadingNode === undefined) return undefined;
  const path = heartbeatPathOf(leadingNode);
  const version = ensemble.furthest.tree.get(path)?.version;
  return version === undefined ? undefined : { path, version };
}

/** No release of Conclave can read these as a record. */
const UNREADABLE = [
  '',
  'x',
  '{}',
  '{"format":1,"state":"held"',
  '{"format":2,"state":"held","term":1}',
  '\0\xff',
];

/** A client that takes no part writes into the record, once or several times, and sometimes all connections end right after that. */
export function overwriteRecord(world: World, random: Random): void {
  const { ensemble, ledger, hosts, leaseMs } = world;
  const times = random.pick([1, 1, 1, 2, 3]);
  for (let time = 0; time < times; time++) {
    world.later(time === 0 ? 0 : random.between(0, 2 * leaseMs), () => {
      ledger.count('records overwritten');
      ensemble.leader?.writeAsStranger(ELECTION, Buffer.from(random.pick(UNREADABLE)));
    });
  }
  if (random.chance(0.3))
    world.later(random.between(0, leaseMs / 4), () => {
      for (const { candidate } of hosts) for (const wire of candidate.environment.wires) wire.reset();
    });
  if (random.chance(0.3)) world.later(random.between(0, leaseMs), () => silenceLeader(world, random));
}

/** That of any candidate. */
function deleteHeartbeatNode(world: World, random: Random): void {
  const { ensemble, ledger } = world;
  const nodes = [...(ensemble.furthest.tree.get(ELECTION)?.children ?? [])].filter(isHeartbeatNode);
  if (nodes.length === 0) return;
  ledger.count('heartbeat nodes deleted');
  ensemble.leader?.deleteAsOperator(`${ELECTION}/${random.pick(nodes)}`);
}

/**
 * Deletes the leader's heartbeat node while the others stand still. They do so until a new node would have the version that they saw last.
 * That has to be less than a session timeout, so the node has to be young: leaders resign until it is.
 */
function deleteHeartbeatNodeUnseen(world: World, random: Random, tries = 4): void {
  const { hosts, ensemble, ledger, leaseMs, surroundings } = world;
  const host = leadingHost(world, random);
  const found = host && heartbeatNodeOfLeader(world, host);
  const untilSameMs = ((found?.version ?? Number.POSITIVE_INFINITY) + random.between(0.2, 2)) * (leaseMs / 4);
  if (host === undefined || found === undefined || untilSameMs > 0.9 * surroundings.sessionTimeoutMs) {
    if (tries === 0) return;
    resign(world);
    world.later(random.between(1, 2) * leaseMs, () => deleteHeartbeatNodeUnseen(world, random, tries - 1));
    return;
  }
  ledger.count('heartbeat nodes deleted while the others stood still');
  for (const each of hosts.filter((other) => other !== host)) world.later(untilSameMs, freeze(each));
  ensemble.leader?.deleteAsOperator(found.path);
}

/**
 * The servers carry out the next claims, and the replies are lost: the connection ends, or no packet comes back. Some time later the
 * candidate comes back, and soon after that it falls silent.
 */
function doubtClaims(world: World, random: Random): void {
  const isOne = random.chance(0.7);
  world.onClaim = (host) => {
    if (isOne) world.onClaim = ignore;
    world.ledger.count('claims of which the reply was lost');
    world.later(random.between(0.2, 5), () => doubtClaim(world, host, random));
  };
  if (random.chance(0.7)) resign(world);
}

/** All candidates are replaced. The first new one claims at once, before it has sent a heartbeat. */
function replaceAll(world: World, random: Random): void {
  for (const host of world.hosts) {
    const { isDead, environment } = host.candidate;
    if (!isDead && !environment.clock.isFrozen)
      ask(world, host.candidate, () => void stopAndReplace(world, host));
  }
  if (random.chance(0.9)) doubtClaims(world, random);
}

function doubtClaim(world: World, host: Host, random: Random): void {
  const { leaseMs, surroundings } = world;
  const { wires } = host.candidate.environment;
  const links = host.routes.map(({ back }) => back);
  for (const link of links) link.cut();
  if (random.chance(0.9)) for (const wire of wires) wire.reset();
  const lastsMs = random.chance(0.9) ? random.between(0, 1.3 * leaseMs) : surroundings.sessionTimeoutMs;
  world.later(lastsMs, () => {
    for (const link of links) link.heal(HELD_BACK_FOR_MS);
    if (random.chance(0.8))
      world.later(random.spread(5, leaseMs), () => silenceForAWhile(world, host, random));
  });
}

/** A leader is killed while its guardian stands still. The guardian goes on before or after another candidate has taken over. */
function killWhileParentIsSlow(world: World, random: Random): void {
  const host = world.hosts.find(({ candidate, parent }) => candidate.isActing && parent?.knowsOfLeader);
  if (host?.parent === undefined) return;
  const { clock } = host.parent.environment;
  clock.freeze();
  end(host, false);
  world.later(random.spread(0.1 * world.leaseMs, 1.2 * world.surroundings.sessionTimeoutMs), () =>
    clock.thaw(),
  );
  world.later(random.spread(100, 10_000), () => {
    if (host.candidate.isDead) world.replace(host);
  });
}

/** Another candidate asks the leader to step down. */
function revoke(world: World, random: Random): void {
  const { candidate } = random.pick(world.hosts);
  const { sessionTimeoutMs } = world.surroundings;
  const options = {
    by: candidate.id, // Without it, the message names this host and process, and its length isn't the same in each run.
    graceMs: random.spread(10, sessionTimeoutMs),
  };
  ask(world, candidate, () => {
    const asking = candidate.session().then((session) => revokeLeader(session, ELECTION, options));
    world.ledger.expect(`${candidate.id}: revokeLeader`, asking, () => candidate.isDead).catch(ignore); // It may be refused.
  });
}

const andNothingToMend =
  (fault: TakeoverFault): Fault =>
  (world, random) => {
    fault(world, random);
    return undefined;
  };

export const TAKEOVER_FAULTS: readonly WeighedFault[] = [
  ['a leader falls silent', 4, andNothingToMend(silenceLeader)],
  ["a leader's heartbeats come late", 2, andNothingToMend(delayHeartbeats)],
  ['the replies to claims are lost', 2, andNothingToMend(doubtClaims)],
  ['all candidates stop, and others begin', 2, andNothingToMend(replaceAll)],
  ['an operator deletes a heartbeat node', 1, andNothingToMend(deleteHeartbeatNode)],
  ['an operator deletes a heartbeat node, unseen', 2, andNothingToMend(deleteHeartbeatNodeUnseen)],
  ['an operator deletes the node of a silent leader', 2, andNothingToMend(deleteNodeOfSilentLeader)],
  ['a client that is no candidate overwrites the record', 2, andNothingToMend(overwriteRecord)],
  ['a leader is asked to step down', 1, andNothingToMend(revoke)],
  [
    'a leader is killed while its parent is slow',
    2,
    andNothingToMend(killWhileParentIsSlow),
    ({ isGuarded }) => isGuarded,
  ],
];
