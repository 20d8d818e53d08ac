import { sleep } from '../../src/platform/time/clock.js';
import type { Random } from '../support/seeded-random.js';
import { ElectorCandidate } from './candidates/elector.js';
import { LOCK_PATHS, useLock, WANTED } from './candidates/lock-user.js';
import { SupervisedCandidate } from './candidates/supervised.js';
import {
  ask,
  CLOSED_WITHIN_MS,
  COMMON,
  cut,
  end,
  freeze,
  isStopping,
  kill,
  resign,
  slow,
  stopAndReplace,
  type WeighedFault,
} from './disturbances.js';
import { STALL_FAULTS, silenceAfterLateReply } from './stall-faults.js';
import { overwriteRecord, TAKEOVER_FAULTS } from './takeover-faults.js';
import type { FaultRate, Host, ObserverHost, World } from './world.js';

/** Requests come within so many things that happen to a process while it begins, or goes on after a loss. */
const STEPS = [1, 80] as const;

/** Two faults may stop the same observer: then the timer of the later one would look like one that the observer has left behind. */
const stoppedObservers = new WeakSet<ObserverHost['observer']>();

async function stopAndReplaceObserver(world: World, observerHost: ObserverHost): Promise<void> {
  const { observer } = observerHost;
  if (stoppedObservers.has(observer)) return;
  stoppedObservers.add(observer);
  await observer.stop();
  await sleep(observer.environment.clock, CLOSED_WITHIN_MS);
  if (observerHost.observer === observer && !observer.isDead) world.retireObserver(observerHost);
}

/** Stops the process, or closes its session, whatever it does at that moment. */
function interrupt(world: World, host: Host, random: Random): void {
  const { candidate } = host;
  world.ledger.count('processes stopped at some step');
  const closesSession = candidate instanceof ElectorCandidate && random.chance(0.3);
  candidate.environment.clock.interruptAfter(Math.floor(random.spread(...STEPS)), () => {
    if (closesSession) candidate.closeSession();
    else void stopAndReplace(world, host);
  });
}

/** Interrupts the process at any step, also while it begins or handles the loss of its session. */
function stopAtSomeStep(world: World, random: Random): undefined {
  const host = world.someHost(random);
  const { isDead, environment } = host.candidate;
  if (isDead || environment.clock.isFrozen) return undefined;
  const when = random.pick(['now', 'after a loss', 'at its beginning']);
  if (when === 'after a loss') {
    const mend = random.chance(0.5) ? cut(host.routes, random) : freeze(host);
    world.later(world.surroundings.sessionTimeoutMs * random.between(1.05, 2), () => {
      mend();
      interrupt(world, host, random);
    });
    return undefined;
  }
  if (when === 'at its beginning') {
    end(host, random.chance(0.5));
    world.replace(host);
  }
  interrupt(world, host, random);
  return undefined;
}

/** The faults of a process that only observes. */
function disturb(world: World, observerHost: ObserverHost, random: Random): (() => void) | undefined {
  const { observer, routes } = observerHost;
  const { clock, wires } = observer.environment;
  if (observer.isDead) return undefined;
  switch (random.pick(['frozen', 'cut off', 'cut off', 'from a server', 'severed', 'killed', 'stopped'])) {
    case 'frozen':
      clock.freeze();
      return () => clock.thaw();
    case 'cut off':
      return cut(routes, random);
    case 'from a server':
      return cut([random.pick(routes)], random);
    case 'severed':
      for (const wire of wires) wire.sever();
      return undefined;
    case 'killed':
      kill(observer.environment, random.chance(0.5));
      return () => {
        if (observerHost.observer.isDead) world.replaceObserver(observerHost);
      };
    default:
      clock.interruptAfter(Math.floor(random.spread(...STEPS)), () => {
        void stopAndReplaceObserver(world, observerHost);
      });
      return undefined;
  }
}

/**
 * The holder of a lock stands still, or reaches no server, until its session is over and another process holds. Chance
 * alone would hardly ever hit a moment at which a lock is held.
 */
function putHolderOutOfReach(world: World, random: Random): void {
  const { lockChecker, sessionTimeoutMs } = world.surroundings;
  const host = world.hosts.find(({ candidate }) => lockChecker.isHeldBy(candidate));
  if (host === undefined) return;
  world.ledger.count("fault: a lock's holder is out of reach");
  const mend = random.chance(0.5) ? cut(host.routes, random) : freeze(host);
  world.later(sessionTimeoutMs * random.between(1.2, 2), mend);
}

/** How often locks are used: often enough to coincide with other faults. */
const LOCK_USES = 4;

/** For worlds whose faults are mostly about takeovers. */
const TAKEOVER_FAULTS_MORE_OFTEN = 8;

const FAULTS: readonly WeighedFault[] = [
  ['a candidate is frozen', 4, COMMON.freeze],
  [
    'a candidate is killed',
    2,
    (world, random) => {
      const host = world.someHost(random);
      if (host.candidate.isDead) return undefined;
      end(host, random.chance(0.5));
      return () => {
        if (host.candidate.isDead) world.replace(host);
      };
    },
  ],
  ['a candidate is cut off', 4, COMMON.cutOff],
  ['a candidate is cut off from a server', 2, COMMON.cutOffFromServer],
  ["a candidate's network is slow", 2, COMMON.slow],
  ['connections are reset', 2, COMMON.reset],
  ['connections are forgotten in between', 2, COMMON.forget],
  ['a server is frozen', 4, COMMON.freezeServer],
  ['a server is killed', 3, COMMON.killServer],
  [
    'all servers are restarted, one after the other',
    1,
    (world, random) => {
      const pauseMs = random.spread(500, 8000);
      world.ensemble.servers.forEach((server, place) => {
        world.later(place * pauseMs, () => server.kill());
        world.later(place * pauseMs + pauseMs / 2, () => server.restart());
      });
      return undefined;
    },
  ],
  ['a server is cut off from the others', 5, COMMON.cutOffServer],
  [
    'two servers are cut off from each other',
    2,
    (world, random) => cut([random.pick(world.ensemble.routes)], random),
  ],
  ['the network between servers is slow', 2, COMMON.slowServer],
  ['the ensemble loses its data', 2, (world) => world.loseData(), ({ losesData }) => losesData],
  ['a leader resigns', 1, resign],
  [
    'a leader hands over',
    1,
    (world, random) => {
      const { leader } = world;
      const to = random.pick(world.hosts).candidate.id;
      return leader && ask(world, leader, () => leader.handOver(to));
    },
  ],
  [
    "an operator deletes a leader's node",
    1,
    (world) => {
      const node = world.leader?.leadingNode;
      if (node !== undefined) world.ensemble.leader?.deleteAsOperator(node);
      return undefined;
    },
  ],
  [
    'a client that is no candidate overwrites the record',
    1,
    (world, random) => {
      overwriteRecord(world, random);
      return undefined;
    },
  ],
  [
    "an operator deletes a lock's node",
    1,
    ({ ensemble, surroundings: { lockChecker } }, random) => {
      const queue = random.pick(LOCK_PATHS);
      const nodes = [...(ensemble.furthest.tree.get(queue)?.children ?? [])];
      if (nodes.length === 0) return undefined;
      const path = `${queue}/${random.pick(nodes)}`;
      lockChecker.tamperedWith(path);
      ensemble.leader?.deleteAsOperator(path);
      return undefined;
    },
  ],
  [
    'a candidate stops, and another begins',
    1,
    (world, random) => {
      const host = random.pick(world.hosts);
      const { candidate } = host;
      if (candidate.isDead || candidate.environment.clock.isFrozen) return undefined;
      ask(world, candidate, () => {
        void stopAndReplace(world, host);
      });
      return undefined;
    },
  ],
  ['a process is stopped at some step', 3, stopAtSomeStep],
  [
    'an observer is disturbed',
    4,
    (world, random) => disturb(world, random.pick(world.observerHosts), random),
    ({ observerHosts }) => observerHosts.length > 0,
  ],
  [
    'a parent is frozen',
    2,
    (world, random) => {
      const { parent } = world.someHost(random);
      if (parent === undefined || parent.isDead) return undefined;
      parent.environment.clock.freeze();
      return () => parent.environment.clock.thaw();
    },
    ({ isGuarded }) => isGuarded,
  ],
  [
    'a parent is killed',
    1,
    (world, random) => {
      const { parent } = world.someHost(random);
      if (parent !== undefined && !parent.isDead) parent.die(false);
      return undefined;
    },
    ({ isGuarded }) => isGuarded,
  ],
  [
    'what a parent and its child say is late',
    2,
    (world, random) =>
      slow(
        [world.someHost(random).parent?.route].filter((each) => each !== undefined),
        random,
      ),
    ({ isGuarded }) => isGuarded,
  ],
  [
    'locks are used',
    LOCK_USES,
    (world, random) => {
      const most = random.pick(WANTED);
      for (const { candidate } of world.hosts)
        for (let count = 1 + random.below(3); count > 0; count--) {
          const wanted = random.chance(0.8) ? most : random.pick(WANTED);
          world.later(random.between(0, 3000), () =>
            ask(world, candidate, () => void useLock(candidate, wanted, random, world.surroundings)),
          );
        }
      world.later(random.between(500, 6000), () => putHolderOutOfReach(world, random));
      return undefined;
    },
  ],
];

/** Faults after which a lease may outlive its node: the servers learn of sessions late, or all at once. */
const STANDSTILLS: ReadonlySet<string> = new Set([
  'a server is frozen',
  'a server is cut off from the others',
  'two servers are cut off from each other',
  'the network between servers is slow',
]);

/** Chooses each as often as its weight says. */
function byWeight(faults: readonly WeighedFault[]): WeighedFault[] {
  return faults.flatMap((each) => Array<WeighedFault>(each[1]).fill(each));
}

const OF_LOCKS = /lock/;
const TAKEOVERS = byWeight([
  ...FAULTS.filter(([name]) => !OF_LOCKS.test(name)),
  ...TAKEOVER_FAULTS.flatMap((each) => Array<WeighedFault>(TAKEOVER_FAULTS_MORE_OFTEN).fill(each)),
]);
const BY_WEIGHT: Record<FaultRate, readonly WeighedFault[]> = {
  few: byWeight([...FAULTS, ...TAKEOVER_FAULTS]),
  many: byWeight([...FAULTS, ...TAKEOVER_FAULTS]),
  takeover: TAKEOVERS,
  stalls: [...TAKEOVERS, ...byWeight(STALL_FAULTS)],
};
const SHORTEST_MS = 100;
const LONGEST_MS = 60_000;

/** Some fault, for some time. */
export function begin(world: World): void {
  const { faults: random, ledger, lateReplies } = world;
  if (lateReplies?.chance(0.3) === true) silenceAfterLateReply(world, lateReplies);
  const possible = BY_WEIGHT[world.faultRate];
  let picked = random.pick(possible);
  while (picked[3]?.(world) === false) picked = random.pick(possible);
  const [name, , fault] = picked;
  ledger.count('faults');
  ledger.count(`fault: ${name}`);
  const mend = fault(world, random);
  if (mend === undefined) return;
  const endStandstill = STANDSTILLS.has(name) ? world.beginStandstill() : undefined;
  world.later(random.spread(SHORTEST_MS, LONGEST_MS), () => {
    mend();
    endStandstill?.();
  });
}

/** A supervisor whose hook never succeeded has stopped for good. Its process ends, and another one begins. */
export function replaceWhoGaveUp(world: World): void {
  for (const host of world.hosts) {
    const { candidate } = host;
    if (!(candidate instanceof SupervisedCandidate && candidate.hasGivenUp)) continue;
    if (!(candidate.isDead || isStopping(candidate))) world.retire(host);
  }
}
