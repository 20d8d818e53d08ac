import { setTimeout as pause } from 'node:timers/promises';
import type { Session } from '../../../src/index.js';
import { deleteForSure } from '../../../src/lease/own-node.js';
import type { ZooKeeperServer } from '../../../tools/zookeeper/server.mjs';
import { JOURNALS } from './settings.js';
import { GROUP, pathOf, queuesOf } from './worker-protocol.js';
import type { World } from './world.js';

const ROUNDS = 3;
const BETWEEN_MS = 200;
const CONNECTS_WITHIN_MS = 10_000;

/** The content of one server, a line for each node that is there and for the version of each record. */
export type Copy = ReadonlySet<string>;

/** The lines that one server has and another one hasn't, or the other way round. */
export interface Disagreement {
  readonly what: string;
  /** The index of the server that differs from all others. */
  readonly odd: number;
}

/**
 * Compares the servers' copies. They are never read at the same moment. So a line counts only if one server had it in all
 * rounds, and another one in none, though that server had been brought up to date.
 *
 * @param rounds - for each round, the copies of all servers, in the same order
 */
export function disagreementsIn(rounds: readonly (readonly Copy[])[]): Disagreement[] {
  const everything = new Set(rounds.flat().flatMap((copy) => [...copy]));
  const disagreements: Disagreement[] = [];
  for (const what of everything) {
    const servers = (rounds[0] ?? []).map((_, server) => server);
    const having = servers.filter((server) => rounds.every((copies) => copies[server]?.has(what)));
    const lacking = servers.filter((server) => rounds.every((copies) => !copies[server]?.has(what)));
    if (having.length === 0 || lacking.length === 0) continue;
    const [odd = 0] = having.length < lacking.length ? having : lacking;
    disagreements.push({ what, odd });
  }
  return disagreements;
}

/** Of these nodes, those about which the servers disagreed. */
export function disputedIn(nodes: readonly string[], disagreements: readonly Disagreement[]): string[] {
  const disputed = new Set(disagreements.map(({ what }) => what));
  return nodes.filter((node) => disputed.has(node));
}

/** Whether all servers have the same nodes and records. They all have to serve. */
export async function compareCopies(world: World): Promise<Disagreement[]> {
  const rounds: Copy[][] = world.servers.length === 0 ? [] : Array.from({ length: ROUNDS }, () => []);
  const read = async (servers: readonly ZooKeeperServer[], sessions: readonly Session[]): Promise<void> => {
    const [server, ...others] = servers;
    if (server !== undefined)
      return await world.withSession(CONNECTS_WITHIN_MS, (session) => read(others, [...sessions, session]), [
        server,
      ]);
    for (const round of rounds) {
      for (const session of sessions) round.push(await copyOf(world, session));
      await pause(BETWEEN_MS);
    }
  };
  await read(world.servers, []);
  return disagreementsIn(rounds);
}

async function copyOf(world: World, session: Session): Promise<Copy> {
  const copy = new Set<string>();
  for (const path of [...JOURNALS.map(pathOf), GROUP.planner]) {
    // When a server has answered a write, it has everything that was written before.
    await session.retryUntilAnswered(() => session.commit([{ kind: 'check', path }]));
    const { stat } = await session.retryUntilAnswered(() => session.getData(path));
    copy.add(`${path} in version ${stat.version}`);
  }
  for (const queue of queuesOf(JOURNALS))
    for (const node of await world.contendersIn(session, queue)) copy.add(node);
  return copy;
}

/** Deletes the nodes about which the servers disagreed, and returns them. By now all servers have to serve, and to agree. */
export async function deleteDisputed(
  world: World,
  disagreements: readonly Disagreement[],
): Promise<readonly string[]> {
  if (disagreements.length === 0) return [];
  return await world.withSession(CONNECTS_WITHIN_MS, async (session) => {
    const queues = queuesOf(JOURNALS);
    const contenders = await Promise.all(queues.map((queue) => world.contendersIn(session, queue)));
    const disputed = disputedIn(contenders.flat(), disagreements);
    await Promise.all(disputed.map((node) => deleteForSure(session, node)));
    return disputed;
  });
}
