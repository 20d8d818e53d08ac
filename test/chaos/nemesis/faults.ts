import { setTimeout as pause } from 'node:timers/promises';
import { ConclaveError, type Session } from '../../../src/index.js';
import { heartbeatPathOf } from '../../../src/queue/names-and-order.js';
import type { ZooKeeperServer } from '../../../tools/zookeeper/server.mjs';
import type { Blocking } from './block.js';
import type { Journal } from './history.js';
import type { Fault, Kind, Way } from './schedule.js';
import { ELECTIONS, JOURNALS, SESSION_TIMEOUT_MS } from './settings.js';
import type { WorkerProcess } from './worker-process.js';
import { queueOf } from './worker-protocol.js';
import type { World } from './world.js';

/** A fault that has come: its target, and how it ends. */
export interface Blow {
  readonly on: string;
  readonly mend: Mend;
}

type Mend = () => unknown;

/** Why a fault didn't come. */
export class PassedOver extends Error {}

/** Thrown if the fault may come later, when its target is there, and free of faults that exclude this one. */
export class NotYet extends PassedOver {}

/** Reports the observed effect of a fault that might have none. */
type OnEffect = (what: string) => void;
type Strike = (world: World, fault: Fault, onEffect: OnEffect) => Promise<Blow> | Blow;

const DAY_S = 86_400;
const JERK_MS = 150;
const LEASE_MS = SESSION_TIMEOUT_MS / 3;
/** How much of a stall is over before the connection or its thread is lost. */
const LOSS_AFTER = 0.3;
const [QUOTA_PERIOD_MS, QUOTA] = [100, 0.2];
const OPERATOR_WAITS_MS = 5000;
const DIRECTIONS = { both: 'both', there: 'upstream', back: 'downstream' } as const;
/** A create, and a transaction, which heartbeats, claims and releases are. */
const WRITES = ['create', 'multi'] as const;

/** A worker's process that no other fault has stopped, ended or blocked. */
function someProcess(world: World, fault: Fault): WorkerProcess {
  return free(world, worker(world, fault), world.workers, (each) => `process ${each.number}`);
}

/** The worker that leads the election, if the fault wants it and there is one; otherwise the worker that was drawn. */
function worker(world: World, fault: Fault): WorkerProcess {
  const { onLeader, worker: index } = fault;
  const actor = onLeader ? world.actorOf(journalOf(fault)) : undefined;
  return actor ?? (world.workers[index] as WorkerProcess);
}

async function someServer(world: World, fault: Fault): Promise<ZooKeeperServer> {
  return free(world, await server(world, fault), world.servers, (each) => `server ${each.id}`);
}

async function server(world: World, { onLeader, server: index }: Fault): Promise<ZooKeeperServer> {
  const leading = onLeader ? await world.leadingServer() : undefined;
  return leading ?? (world.servers[index] as ZooKeeperServer);
}

/** Takes the wanted server or worker, or the next free one. */
function free<T>(world: World, wanted: T, all: readonly T[], nameOf: (each: T) => string): T {
  const start = all.indexOf(wanted);
  for (let step = 0; step < all.length; step++) {
    const each = all[(start + step) % all.length] as T;
    if (world.busy.has(nameOf(each))) continue;
    world.busy.add(nameOf(each));
    return each;
  }
  throw new NotYet('all had such a fault already');
}

function onProcess(
  strike: (process: WorkerProcess, fault: Fault, onEffect: OnEffect) => Promise<Mend> | Mend,
): Strike {
  return async (world, fault, onEffect) => {
    const process = someProcess(world, fault);
    const on = process.name;
    return {
      on,
      mend: await holding(world, `process ${process.number}`, () => strike(process, fault, onEffect)),
    };
  };
}

/** A fault of a process whose sessions have `maxStallMs`. */
function onStallable(
  strike: (process: WorkerProcess, fault: Fault, onEffect: OnEffect) => Promise<Mend> | Mend,
): Strike {
  return async (world, fault, onEffect) => {
    const able = world.workers.filter(({ maxStallMs }) => maxStallMs !== undefined);
    const wanted = worker(world, fault);
    const other = able[fault.worker % able.length];
    if (other === undefined) throw new NotYet('no worker had such a thread');
    const process = free(
      world,
      able.includes(wanted) ? wanted : other,
      able,
      (each) => `process ${each.number}`,
    );
    const on = process.name;
    return {
      on,
      mend: await holding(world, `process ${process.number}`, () => strike(process, fault, onEffect)),
    };
  };
}

/** Half of the times a blocked thread computes, and half of the times it waits. */
function howOf(amount: number): Blocking {
  return amount < 0.5 ? 'waits' : 'computes';
}

function onServer(
  strike: (server: ZooKeeperServer, fault: Fault, world: World, onEffect: OnEffect) => Promise<Mend> | Mend,
): Strike {
  return async (world, fault, onEffect) => {
    const server = await someServer(world, fault);
    const on =
      (await world.leadingServer()) === server ? `server ${server.id}, which leads` : `server ${server.id}`;
    return {
      on,
      mend: await holding(world, `server ${server.id}`, () => strike(server, fault, world, onEffect)),
    };
  };
}

/** The target is given back when the fault has ended, or couldn't come. */
async function holding(world: World, name: string, strike: () => Promise<Mend> | Mend): Promise<Mend> {
  try {
    const mend = await strike();
    return async () => {
      try {
        await mend();
      } finally {
        world.busy.delete(name);
      }
    };
  } catch (error) {
    world.busy.delete(name);
    throw error;
  }
}

/** A fault between one worker and the servers: several may come at once. */
function onProxies(strike: (worker: WorkerProcess, fault: Fault, onEffect: OnEffect) => Mend[]): Strike {
  return (world, fault, onEffect) => {
    const target = worker(world, fault);
    const mends = strike(target, fault, onEffect);
    return {
      on: `w${target.number}${fault.way === 'both' ? '' : `, ${fault.way}`}`,
      mend: () => mends.map((mend) => mend()),
    };
  };
}

function jumpOf({ amount }: Fault): number {
  // From two days back to two days ahead; amounts of about half give seconds.
  const sign = amount < 0.5 ? -1 : 1;
  return sign * Math.round((2 * DAY_S) ** (Math.abs(amount - 0.5) * 2));
}

async function restart(server: ZooKeeperServer): Promise<void> {
  await server.kill('SIGKILL');
  await server.start();
}

/** Cuts ways between servers, named by where they begin and end. */
async function cutWays({ network }: World, ways: readonly (readonly [number, number])[]): Promise<Mend> {
  if (network === undefined) throw new PassedOver('not allowed');
  for (const [from, to] of ways) await network.cut(from, to);
  return async () => {
    for (const [from, to] of ways) await network.mend(from, to);
  };
}

function waysBetween(one: number, other: number, way: Way): (readonly [number, number])[] {
  const there = [one, other] as const;
  const back = [other, one] as const;
  return way === 'both' ? [there, back] : [way === 'there' ? there : back];
}

/** Returns the path of the node that was deleted. */
async function deleteNode(
  world: World,
  journal: Journal,
  choose: (nodes: readonly string[]) => string | undefined,
): Promise<string> {
  const remove = async (session: Session) => {
    const node = choose(await world.contendersIn(session, queueOf(journal)));
    if (node === undefined) throw new PassedOver('the election had no candidate');
    await session.retryUntilAnswered(() => session.remove(node));
    return node;
  };
  return await world.withSession(OPERATOR_WAITS_MS, remove).catch((error: Error) => {
    // Without a server an operator can do nothing either; and a node may be gone before it is removed.
    if (error instanceof ConclaveError) throw new PassedOver(error.code);
    throw error;
  });
}

function journalOf({ journal }: Fault): Journal {
  return JOURNALS[journal] as Journal;
}

const STRIKES: Record<Kind, Strike> = {
  'a worker stands still': onProcess((process) => {
    process.freeze();
    return () => process.thaw();
  }),

  'a worker is killed': onProcess(async (process) => {
    await process.kill();
    return () => process.start();
  }),

  'a worker is stopped and replaced': onProcess((process) => {
    // It ends in its own time, which may be longer than the fault.
    const stopped = process.stop();
    return async () => {
      await stopped;
      await process.start();
    };
  }),

  "a worker's event loop is blocked": onProcess((process, { forMs, amount }) => {
    process.block(forMs, howOf(amount));
    return () => undefined;
  }),

  // Its main thread has to find a server when it goes on: the same one, or another one.
  'a blocked worker loses its connections': onStallable(async (process, { forMs, amount }, onEffect) => {
    process.block(forMs, howOf(amount * 2 - Math.floor(amount * 2)));
    await pause(Math.min(forMs * LOSS_AFTER, LEASE_MS));
    const { proxies } = process;
    if (amount >= 0.5) {
      for (const proxy of proxies) proxy.dropConnections();
      return () => undefined;
    }
    const used = proxies.filter((proxy) => proxy.inUse);
    onEffect(`${process.name} used ${used.length} servers`);
    // One of them stays, if it uses all.
    const mends = used.slice(0, proxies.length - 1).map((proxy) => proxy.cut());
    return () => {
      for (const mend of mends) mend();
    };
  }),

  'the thread of a worker hangs': onStallable((process, { forMs, amount }) => {
    process.failThread({ how: 'hangs', forMs, afterMs: 0 });
    if (amount < 0.5) process.block(forMs, 'waits');
    return () => undefined;
  }),

  'the thread of a worker dies': onStallable((process, { forMs, amount }) => {
    // In a stall, too, in which the main thread can't start another one.
    const isInStall = amount < 0.5;
    const afterMs = isInStall ? Math.round(forMs * LOSS_AFTER) : 0;
    process.failThread({
      how: amount * 4 - Math.floor(amount * 4) < 0.5 ? 'throws' : 'exits',
      forMs,
      afterMs,
    });
    if (isInStall) process.block(forMs, 'waits');
    return () => undefined;
  }),

  // As a container whose quota is used up in each period of 100 ms, after a fifth of it. All threads stand still then.
  'a worker has a fifth of a processor': onProcess((process) => {
    const giveUp = new AbortController();
    const takeTurns = async () => {
      while (!giveUp.signal.aborted) {
        process.freeze();
        await pause(QUOTA_PERIOD_MS * (1 - QUOTA));
        process.thaw();
        await pause(QUOTA_PERIOD_MS * QUOTA);
      }
    };
    const turns = takeTurns();
    return async () => {
      giveUp.abort();
      await turns;
    };
  }),

  "a worker's wall clock jumps": onProcess(async (process, fault, onEffect) => {
    const { clock } = process;
    clock?.jump(jumpOf(fault));
    const skewMs = await process.skewMs();
    if (Math.abs(skewMs) > 500) onEffect(`${process.name} is ${Math.round(skewMs / 1000)} s off`);
    return () => clock?.jump(0);
  }),

  'a worker is cut off': onProxies(({ proxies }, { way }) =>
    proxies.map((proxy) => proxy.partition(DIRECTIONS[way])),
  ),

  'a worker is cut off from one server': onProxies(({ proxies }, { way, server }) =>
    proxies.filter((_, index) => index === server).map((proxy) => proxy.partition(DIRECTIONS[way])),
  ),

  'the connections of a worker are reset': onProxies(({ proxies }) => proxies.map((proxy) => proxy.cut())),

  'the reply to a write of a worker is lost': onProxies(({ proxies, name }, _, onEffect) =>
    proxies.map((proxy) => {
      const mended = new AbortController();
      void proxy.loseReplyTo(WRITES, { signal: mended.signal }).then(() => onEffect(`of ${name}`));
      return () => mended.abort();
    }),
  ),

  'the network of a worker is slow': onProxies(({ proxies }, { amount }) =>
    proxies.map((proxy) => proxy.delay(20 * 75 ** amount)),
  ),

  'a server stands still': onServer((server) => {
    server.pause();
    return () => server.resume();
  }),

  'a server runs in jerks': onServer((server) => {
    const giveUp = new AbortController();
    const jerk = async () => {
      while (!giveUp.signal.aborted) {
        server.pause();
        await pause(JERK_MS);
        server.resume();
        await pause(JERK_MS / 2);
      }
    };
    const jerking = jerk();
    return async () => {
      giveUp.abort();
      await jerking;
    };
  }),

  'a server is killed': onServer(async (server) => {
    await server.kill('SIGKILL');
    return () => server.start();
  }),

  'all servers are restarted in turn': (world, { forMs }) => {
    const restartAll = async () => {
      for (const server of world.servers) {
        const name = `server ${server.id}`;
        if (world.busy.has(name)) continue;
        world.busy.add(name);
        await server.stop();
        await pause(forMs / world.servers.length / 2);
        await server.start();
        world.busy.delete(name);
      }
    };
    const done = restartAll();
    done.catch(() => undefined); // The end of the fault awaits it, too.
    return { on: 'all servers', mend: () => done };
  },

  'a server is cut off from the others': async (world, fault, onEffect) => {
    const target = await server(world, fault);
    const role = (await world.leadingServer()) === target ? ', which leads' : '';
    const others = world.servers.filter((each) => each !== target);
    const ways = others.flatMap(({ id }) => waysBetween(target.id, id, fault.way));
    const unite = await cutWays(world, ways);
    const mend = async () => {
      // It behaves like any server without a quorum, once it has noticed. It may also have been killed, or stand still.
      if ((await target.mode()) === '') onEffect(`server ${target.id} serves no more`);
      await unite();
    };
    return { on: `server ${target.id}${role}, ${fault.way}`, mend };
  },

  'two servers are cut off from each other': async (world, { server: index, way }) => {
    const [one, other] = [index + 1, ((index + 1) % world.servers.length) + 1];
    return {
      on: `servers ${one} and ${other}, ${way}`,
      mend: await cutWays(world, waysBetween(one, other, way)),
    };
  },

  "a server's wall clock jumps": onServer(({ id }, fault, world) => {
    const clock = world.clocks[id - 1];
    clock?.jump(jumpOf(fault));
    return () => clock?.jump(0);
  }),

  "a server's disk is full": onServer(async (server, _, world, onEffect) => {
    const disk = world.disks[server.id - 1];
    await disk?.fill();
    return async () => {
      if ((await server.mode()) === '') onEffect(`server ${server.id} serves no more`);
      await disk?.empty();
      // The failure lasts until the server is restarted: it may not serve any more, or be gone.
      await restart(server);
    };
  }),

  'an operator deletes a node': async (world, fault) => {
    // The leader's half of the time; of an election or a group, in half of these cases the heartbeat node beside it.
    const { amount } = fault;
    const journal = journalOf(fault);
    const on = await deleteNode(world, journal, (nodes) => {
      const node = nodes[amount < 0.5 ? 0 : Math.floor(amount * nodes.length)];
      return node !== undefined && amount < 0.25 && journal.kind !== 'lock' ? heartbeatPathOf(node) : node;
    });
    return { on, mend: () => undefined };
  },

  'an operator deletes the node of a leader that is cut off': async (world, fault) => {
    const election = ELECTIONS[fault.journal % ELECTIONS.length] as Journal;
    const leader = world.actorOf(election);
    if (leader === undefined) throw new NotYet('the election had no leader');
    const mends = leader.proxies.map((proxy) => proxy.partition());
    const mend = () => mends.map((each) => each());
    try {
      return { on: `${leader.name}, ${await deleteNode(world, election, ([first]) => first)}`, mend };
    } catch (error) {
      mend();
      throw error;
    }
  },
};

/** @throws PassedOver if it can't come now */
export async function strike(world: World, fault: Fault, onEffect: OnEffect): Promise<Blow> {
  const why = world.notAllowed.get(fault.kind);
  if (why !== undefined) throw new PassedOver(why);
  return await STRIKES[fault.kind](world, fault, onEffect);
}
