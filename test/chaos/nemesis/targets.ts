import type { ZooKeeperServer } from '../../../tools/zookeeper/server.mjs';
import type { Journal } from './history.js';
import type { Mend, Network } from './network.js';
import type { Fault } from './schedule.js';
import { JOURNALS } from './settings.js';
import type { WorkerProcess } from './worker-process.js';
import type { World } from './world.js';

/** A fault that has come: its target, and how it ends. */
export interface Blow {
  readonly on: string;
  readonly mend: Mend;
}

/** Why a fault didn't come. */
export class PassedOver extends Error {}

/** Thrown if the fault may come later, when its target is there, and free of faults that exclude this one. */
export class NotYet extends PassedOver {}

/** Reports the observed effect of a fault that might have none. */
export type OnEffect = (what: string) => void;
export type Strike = (world: World, fault: Fault, onEffect: OnEffect) => Promise<Blow> | Blow;

/** A worker's process that no other fault has stopped, ended or blocked. */
function someProcess(world: World, fault: Fault): WorkerProcess {
  return free(world, worker(world, fault), world.workers, (each) => `process ${each.number}`);
}

/** The worker that leads the election, if the fault wants it and there is one; otherwise the worker that was drawn. */
export function worker(world: World, fault: Fault): WorkerProcess {
  const { onLeader, worker: index } = fault;
  const actor = onLeader ? world.actorOf(journalOf(fault)) : undefined;
  return actor ?? (world.workers[index] as WorkerProcess);
}

async function someServer(world: World, fault: Fault): Promise<ZooKeeperServer> {
  return free(world, await server(world, fault), world.servers, (each) => `server ${each.id}`);
}

export async function server(world: World, { onLeader, server: index }: Fault): Promise<ZooKeeperServer> {
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

export function onProcess(
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
export function onStallable(
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

export function onServer(
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
export function onLink(
  strike: (worker: WorkerProcess, fault: Fault, world: World, onEffect: OnEffect) => Promise<Mend> | Mend,
): Strike {
  return async (world, fault, onEffect) => {
    const target = worker(world, fault);
    const mend = await strike(target, fault, world, onEffect);
    return { on: `w${target.number}${fault.way === 'both' ? '' : `, ${fault.way}`}`, mend };
  };
}

/** The indices of all servers. */
export function allOf({ servers }: World): number[] {
  return servers.map((_, index) => index);
}

export function networkOf({ network }: World): Network {
  if (network === undefined) throw new PassedOver('not allowed');
  return network;
}

export function journalOf({ journal }: Fault): Journal {
  return JOURNALS[journal] as Journal;
}
