import type { Journal } from './history.js';

/** What a worker is told when it begins. */
export interface Orders {
  /** Unlike that of any other process of the run. */
  readonly name: string;
  readonly connect: string;
  readonly historyPath: string;
  readonly sinkPath: string;
  readonly journals: readonly Journal[];
  readonly sessionTimeoutMs: number;
  readonly takeoverDelayMs: number | 'default';
}

export type Command =
  | { readonly command: 'begin'; readonly orders: Orders }
  | { readonly command: 'block'; readonly ms: number }
  | { readonly command: 'resign'; readonly journal: string }
  /** Answered with the wall clock's time. */
  | { readonly command: 'tell the time' }
  /** Written down as a note: how it sees an election. */
  | { readonly command: 'explain'; readonly journal: string }
  | { readonly command: 'stop' };

/** What a worker tells while it runs: to steer the faults by. What counts is in the history. */
export type Message =
  | { readonly tells: 'begun' }
  | { readonly tells: 'acts'; readonly journal: string }
  | { readonly tells: 'acts no more'; readonly journal: string }
  | { readonly tells: 'time'; readonly wallMs: number };

export function pathOf(journal: Journal): string {
  return `/chaos/${journal.kind}/${journal.name}`;
}
