import type { Reply } from '../../session/connection/reply.js';
import type { ChildNames } from '../../session/protocol/child-names.js';
import type { NodeData } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import type { OverviewModel } from '../model/overview-model.js';
import type { ServerClock } from '../model/server-clock.js';

/** What all readers with one session share. */
export interface Reading {
  readonly session: Session;
  readonly slots: ReadSlots;
  readonly model: OverviewModel;
  readonly serverClock: ServerClock;
  /** Begins a read. Not everything was read until the returned function is called. */
  begin(): () => void;
  /** Reads a node that may be gone. */
  read(path: string): Promise<NodeData | undefined>;
  /** Handles the error of a read. The end of the session needs no handling. */
  refused(path: string, error: unknown): void;
  /** Returns `false` if the limit of nodes is reached, so that this one isn't read. */
  count(by: 1 | -1, path: string): boolean;
  /** @param sentence - `undefined` if everything there is shown again */
  limit(path: string, sentence: string | undefined): void;
}

/** Lets only so many reads run at a time. The others wait, in the order in which they came. */
export class ReadSlots {
  #free: number;
  #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async run<T>(read: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await read();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}

/** The shortest pause between two reads of a node that changes all the time. A lock may change hands a thousand times in a second. */
export const PACE_MS = 100;
/** So that no node costs more than 2,000 names in a second, however many children it has, and whether or not they are shown. */
const PACE_MS_BY_CHILD = 0.5;

/** How long the children of a node aren't listed again after a listing, in milliseconds. */
export function listingPauseMs({ value }: Reply<ChildNames>): number {
  return Math.max(PACE_MS, value.count * PACE_MS_BY_CHILD);
}
