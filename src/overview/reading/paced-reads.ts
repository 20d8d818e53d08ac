import type { Reply } from '../../session/connection/reply.js';
import type { ChildNames } from '../../session/protocol/child-names.js';

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
