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

export function pathOf(journal: Journal): string {
  return `/chaos/${journal.kind}/${journal.name}`;
}
