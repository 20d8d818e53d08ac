import { setTimeout as pause } from 'node:timers/promises';
import { Random } from '../../support/seeded-random.js';
import { type Link, WiredLink } from './link.js';
import { type Mend, type Network, type OneWay, waysBetween } from './network.js';
import type { Fault, Kind } from './schedule.js';
import { LEASE_MS } from './settings.js';
import { allOf, NotYet, networkOf, onLink, PassedOver, type Strike, server, worker } from './targets.js';
import type { WorkerProcess } from './worker-process.js';

/** How long a link that flaps is down, and up. */
const FLAP_MS = { least: 100, most: 1500 };
/** For how long a worker gets nothing, so that a reply comes late and within the lease; and then nothing that it sends arrives. */
const DEAF_MS = { least: LEASE_MS / 4, most: LEASE_MS / 2 };
const MUTE_MS = LEASE_MS * 1.5;

function endOf(link: Link): number {
  if (link instanceof WiredLink) return link.end;
  throw new PassedOver('the worker has no network of its own');
}

/** A fault of the cable of a worker or a server, by the number of its end. */
function onCable(
  whose: 'worker' | 'server',
  strike: (network: Network, end: number, fault: Fault) => Promise<Mend> | Mend,
): Strike {
  return async (world, fault) => {
    const network = networkOf(world);
    const end = whose === 'worker' ? endOf(worker(world, fault).link) : (await server(world, fault)).id;
    const on = end > world.servers.length ? `w${end - world.servers.length}` : `server ${end}`;
    return { on, mend: await strike(network, end, fault) };
  };
}

/** Makes a fault come and go, until it is mended. */
function inTurns(turn: () => Promise<void>): Mend {
  const giveUp = new AbortController();
  const takeTurns = async () => {
    while (!giveUp.signal.aborted) await turn();
  };
  const turns = takeTurns();
  turns.catch(() => undefined); // The end of the fault awaits it, too.
  return async () => {
    giveUp.abort();
    await turns;
  };
}

async function flap(network: Network, end: number, { amount }: Fault): Promise<Mend> {
  const chance = chanceOf(amount);
  const wait = () => pause(chance.spread(FLAP_MS.least, FLAP_MS.most));
  return inTurns(async () => {
    const plug = await network.unplug(end);
    await wait();
    await plug();
    await wait();
  });
}

/** What else chance decides about a fault. */
function chanceOf(amount: number): Random {
  return new Random(Math.round(amount * 1000));
}

/** Each way between an end of one side and an end of the other one. */
function waysAcross(one: readonly number[], other: readonly number[]): OneWay[] {
  return one.flatMap((end) => other.flatMap((opposite) => waysBetween(end, opposite, 'both')));
}

/** Faults that come only where workers and servers have networks of their own. */
export const WIRED_STRIKES = {
  'a worker is cut off from the server that leads': onLink(async ({ link }, { way }, world) => {
    const leading = await world.leadingServer();
    if (leading === undefined) throw new NotYet('no server led');
    return await link.cut([leading.id - 1], way);
  }),

  'the link of a worker is down': onCable('worker', (network, end) => network.unplug(end)),

  'the link of a worker flaps': onCable('worker', flap),

  // Its heartbeats are committed, and the replies come late. Nothing that it sends after these arrives.
  'the link of a worker works one way at a time': onLink(({ link }, { amount }, world) => {
    const chance = chanceOf(amount);
    return inTurns(async () => {
      const hear = await link.cut(allOf(world), 'back');
      await pause(chance.between(DEAF_MS.least, DEAF_MS.most));
      const speak = await link.cut(allOf(world), 'there');
      await hear();
      await pause(MUTE_MS);
      await speak();
      await pause(LEASE_MS);
    });
  }),

  'the link of a server is down': onCable('server', (network, end) => network.unplug(end)),

  'the link of a server flaps': onCable('server', flap),

  // One server and some workers are on one side. With the others are a majority of the servers, and some workers as well.
  'the network is split': async (world, fault) => {
    const chance = chanceOf(fault.amount);
    const few = await server(world, fault);
    const first = worker(world, fault);
    const others = world.workers.filter((each) => each !== first);
    const rest = others.splice(chance.below(others.length));
    const sideOf = (workers: readonly WorkerProcess[]) => workers.map(({ link }) => endOf(link));
    const minority = [few.id, ...sideOf([first, ...others])];
    const majority = [...world.servers.map(({ id }) => id).filter((id) => id !== few.id), ...sideOf(rest)];
    const names = [first, ...others].map(({ number }) => `w${number}`).join(', ');
    const mend = await networkOf(world).cut(waysAcross(minority, majority));
    return { on: `server ${few.id} with ${names}`, mend };
  },

  'each server is seen by half of the workers': async (world, { amount }) => {
    const chance = chanceOf(amount);
    const unseen = world.servers.map((server) => {
      const workers = world.workers.filter(() => chance.chance(0.5));
      return { server, workers };
    });
    const ways = unseen.flatMap(({ server, workers }) =>
      waysAcross(
        [server.id],
        workers.map(({ link }) => endOf(link)),
      ),
    );
    const names = unseen.map(
      ({ server, workers }) =>
        `server ${server.id} not by ${workers.map(({ number }) => `w${number}`).join(', ') || 'none'}`,
    );
    return { on: names.join('; '), mend: await networkOf(world).cut(ways) };
  },

  'clocks are 2 s apart': (world) => {
    const clocks = [...world.clocks, ...world.workers.map(({ clock }) => clock)];
    for (const [index, clock] of clocks.entries()) clock?.jump(index % 2 === 0 ? 1 : -1);
    const mend = () => {
      for (const clock of clocks) clock?.jump(0);
    };
    return { on: 'all servers and workers', mend };
  },
} satisfies Partial<Record<Kind, Strike>>;
