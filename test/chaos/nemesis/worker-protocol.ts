import { GroupPaths } from '../../../src/shards/nodes/group-paths.js';
import type { Journal } from './history.js';

/** What a worker is given when it begins. */
export interface Orders {
  /** Unlike that of any other process of the run. */
  readonly name: string;
  readonly connect: string;
  readonly historyPath: string;
  readonly sinkPath: string;
  readonly journals: readonly Journal[];
  readonly sessionTimeoutMs: number;
  readonly hasTakeoverDelay: boolean;
}

export type Command =
  | { readonly command: 'begin'; readonly orders: Orders }
  | { readonly command: 'block'; readonly ms: number }
  | { readonly command: 'resign'; readonly journal: string }
  /** Answered with the wall clock's time. */
  | { readonly command: 'report the time' }
  /** Written down as a note: how it sees an election. */
  | { readonly command: 'explain'; readonly journal: string }
  | { readonly command: 'stop' };

/** What a worker reports while it runs: to steer the faults by. What counts is in the history. */
export type Message =
  | { readonly reports: 'begun' }
  | { readonly reports: 'acts'; readonly journal: string }
  | { readonly reports: 'acts no more'; readonly journal: string }
  | { readonly reports: 'time'; readonly wallMs: number };

/** Where the workers have their shards. */
export const GROUP = new GroupPaths('/chaos/shards');

/** What has the record of an election or a shard; of a lock, where it is. */
export function pathOf({ kind, name }: Journal): string {
  return kind === 'shard' ? GROUP.recordOf(name.replace('shard ', '')) : `/chaos/${kind}/${name}`;
}

/** Where its contenders have their nodes. All shards have the same ones. */
export function queueOf(journal: Journal): string {
  return journal.kind === 'shard' ? GROUP.members : pathOf(journal);
}

/** All queues of these journals, each once, and the planner's. */
export function queuesOf(journals: readonly Journal[]): string[] {
  return [...new Set([...journals.map(queueOf), GROUP.planner])];
}
