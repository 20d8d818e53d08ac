import { GroupPaths } from '../../../src/shards/stored/group-paths.js';
import type { Blocking } from './block.js';
import type { FailMessage } from './connection-thread.js';
import type { Journal } from './history.js';

/** The settings that a worker gets when it begins. */
export interface Orders {
  /** Unique among the processes of the run. */
  readonly name: string;
  readonly connect: string;
  readonly historyPath: string;
  readonly sinkPath: string;
  readonly journals: readonly Journal[];
  readonly sessionTimeoutMs: number;
  readonly hasTakeoverDelay: boolean;
  readonly areThreadsCareless: boolean;
  readonly areLeasesFromReplies: boolean;
  /** Of all sessions. With it, another thread acts, too. */
  readonly maxStallMs: number | undefined;
}

export type Command =
  | { readonly command: 'begin'; readonly orders: Orders }
  | { readonly command: 'block'; readonly ms: number; readonly how: Blocking }
  | ({ readonly command: 'fail the thread' } & Omit<FailMessage, 'kind'>)
  | { readonly command: 'resign'; readonly journal: string }
  /** Answered with the wall clock's time. */
  | { readonly command: 'report the time' }
  /** The worker writes a note of how it sees an election. */
  | { readonly command: 'explain'; readonly journal: string }
  | { readonly command: 'stop' };

/** A worker's reports while it runs. They only steer the faults. The checker uses the history alone. */
export type Message =
  | { readonly reports: 'begun' }
  | { readonly reports: 'acts'; readonly journal: string }
  | { readonly reports: 'acts no more'; readonly journal: string }
  | { readonly reports: 'time'; readonly wallMs: number };

/** Where the workers have their shards. */
export const GROUP = new GroupPaths('/chaos/shards');

/** The path of the record of an election or a shard; for a lock, the lock's path. */
export function pathOf({ kind, name }: Journal): string {
  return kind === 'shard' ? GROUP.recordOf(name.replace('shard ', '')) : `/chaos/${kind}/${name}`;
}

/** The path below which its contenders have their nodes. All shards share it. */
export function queueOf(journal: Journal): string {
  return journal.kind === 'shard' ? GROUP.members : pathOf(journal);
}

/** All queues of these journals, each once, and the planner's. */
export function queuesOf(journals: readonly Journal[]): string[] {
  return [...new Set([...journals.map(queueOf), GROUP.planner])];
}
