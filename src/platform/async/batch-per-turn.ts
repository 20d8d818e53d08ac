import { nextTick } from '../time/timers.js';

/** Collects what comes within a turn of the event loop, and hands it on together: many shards are given back at once. */
export class BatchPerTurn<T> {
  readonly #flush: (items: readonly T[]) => void;
  #items: T[] = [];

  constructor(flush: (items: readonly T[]) => void) {
    this.#flush = flush;
  }

  add(item: T): void {
    this.#items.push(item);
    if (this.#items.length > 1) return;
    nextTick(() => {
      const items = this.#items;
      this.#items = [];
      this.#flush(items);
    });
  }
}
