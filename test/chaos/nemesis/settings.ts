import { LONGEST_COOLDOWN_MS } from '../../../src/election/lost-term-backoff.js';
import type { Journal } from './history.js';

export const SERVERS = 3;
export const WORKERS = 5;
/** The number of shards in the one group. There are more shards than workers, so that a change of workers moves some. */
export const SHARDS = ['0', '1', '2', '3', '4', '5'] as const;

export function shardJournal(shard: string): string {
  return `shard ${shard}`;
}

export const JOURNALS: readonly Journal[] = [
  { name: 'red', kind: 'election' },
  { name: 'green', kind: 'election' },
  { name: 'blue', kind: 'election' },
  { name: 'counter', kind: 'lock' },
  ...SHARDS.map((shard): Journal => ({ name: shardJournal(shard), kind: 'shard' })),
];
export const ELECTIONS = JOURNALS.filter(({ kind }) => kind === 'election');

export const SESSION_TIMEOUT_MS = 5000;
/** The default: a third of a session timeout. */
export const LEASE_MS = SESSION_TIMEOUT_MS / 3;
export const TICK_MS = 500;
/** After how many silent ticks the servers give each other up: less than a session timeout, so that a session may outlive it. */
export const SYNC_LIMIT = 6;
/** How long they wait for each other at the beginning, in ticks. */
export const INIT_LIMIT = 20;

/**
 * How soon a worker leads again after the end of all faults, when all servers serve. A process that was killed at the end
 * of the storm leaves a session to wait for, and a leading server that has just been elected begins all sessions anew:
 * two session timeouts. The ensemble may look for a leader once more. All candidates may have lost so many terms that they
 * stay out of the election for a while. The rest is for takeover delays, pauses between tries, processes that begin, and
 * a machine that has other things to do.
 */
export const RECOVERY_MS = 2 * SESSION_TIMEOUT_MS + 2 * SYNC_LIMIT * TICK_MS + LONGEST_COOLDOWN_MS + 10_000;

/** How soon a worker stops after it was asked to, when all servers serve. */
export const STOP_WITHIN_MS = 20_000;

/**
 * How long a contender's node may stay after all workers have stopped: as long as a session that wasn't closed.
 */
export const GONE_WITHIN_MS = SESSION_TIMEOUT_MS + SYNC_LIMIT * TICK_MS + 10_000;
