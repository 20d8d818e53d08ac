import { setTimeout as pause } from 'node:timers/promises';
import { ConclaveError, type Session } from '../../../src/index.js';
import { heartbeatPathOf } from '../../../src/queue/names-and-order.js';
import type { ZooKeeperServer } from '../../../tools/zookeeper/server.mjs';
import type { Blocking } from './block.js';
import type { Journal } from './history.js';
import { type Link, mendAll, ProxiedLink } from './link.js';
import { waysBetween } from './network.js';
import type { Fault, Kind } from './schedule.js';
import { ELECTIONS, LEASE_MS } from './settings.js';
import {
  allOf,
  type Blow,
  journalOf,
  NotYet,
  networkOf,
  type OnEffect,
  onLink,
  onProcess,
  onServer,
  onStallable,
  PassedOver,
  type Strike,
  server,
} from './targets.js';
import { WIRED_STRIKES } from './wired-faults.js';
import { queueOf } from './worker-protocol.js';
import type { World } from './world.js';

const DAY_S = 86_400;
const JERK_MS = 150;
/** How much of a stall is over before the connection or its thread is lost. */
const LOSS_AFTER = 0.3;
const [QUOTA_PERIOD_MS, QUOTA] = [100, 0.2];
const OPERATOR_WAITS_MS = 5000;
/** A create, and a transaction, which heartbeats, claims and releases are. */
const WRITES = ['create', 'multi'] as const;

/** Half of the times a blocked thread computes, and half of the times it waits. */
function howOf(amount: number): Blocking {
  return amount < 0.5 ? 'waits' : 'computes';
}

function proxiesOf(link: Link): ProxiedLink['proxies'] {
  if (link instanceof ProxiedLink) return link.proxies;
  throw new PassedOver('the worker has no proxies');
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

const STRIKES: Record<Kind, Strike> = {
  ...WIRED_STRIKES,

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
    const proxies = proxiesOf(process.link);
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

  'a worker is cut off': onLink(({ link }, { way }, world) => link.cut(allOf(world), way)),

  'a worker is cut off from one server': onLink(({ link }, { way, server }) => link.cut([server], way)),

  'the connections of a worker are reset': onLink(({ link }, _, world) => link.reset(allOf(world))),

  'the reply to a write of a worker is lost': onLink(({ link, name }, _fault, _world, onEffect) =>
    mendAll(
      proxiesOf(link).map((proxy) => {
        const mended = new AbortController();
        void proxy.loseReplyTo(WRITES, { signal: mended.signal }).then(() => onEffect(`of ${name}`));
        return () => mended.abort();
      }),
    ),
  ),

  'the network of a worker is slow': onLink(({ link }, { amount }) =>
    mendAll(proxiesOf(link).map((proxy) => proxy.delay(20 * 75 ** amount))),
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
    const unite = await networkOf(world).cut(ways);
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
      mend: await networkOf(world).cut(waysBetween(one, other, way)),
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
    const mend = await leader.link.cut(allOf(world), 'both');
    try {
      return { on: `${leader.name}, ${await deleteNode(world, election, ([first]) => first)}`, mend };
    } catch (error) {
      await mend();
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
