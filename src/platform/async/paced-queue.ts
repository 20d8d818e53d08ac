import type { Clock } from '../time/clock.js';
import { nextTick } from '../time/timers.js';
import { microtask } from './promises.js';

/** How much of a turn of the event loop the items may take, but for the last one. */
const MOST_MS = 5;

/**
 * Hands items on in their order, the first at once, and those that would take too much of a turn of the event loop in the next ones. A
 * `MessagePort` hands on all messages that have come in a single turn, however long that takes.
 */
export class PacedQueue<T> {
  readonly #clock: Clock;
  readonly #take: (item: T) => void;
  readonly #waiting: T[] = [];
  /** Until when more may be handed on in this turn. `undefined`: nothing was yet. */
  #endsAt: number | undefined;

  constructor(clock: Clock, take: (item: T) => void) {
    this.#clock = clock;
    this.#take = take;
  }

  add(item: T): void {
    this.#waiting.push(item);
    if (this.#endsAt === undefined) this.#beginTurn();
    else if (this.#waiting.length === 1) this.#handOn(this.#endsAt);
  }

  #beginTurn(): void {
    const endsAt = this.#clock.now() + MOST_MS;
    this.#endsAt = endsAt;
    // By the clock, so that a simulated process has its own turns.
    this.#clock.after(0, () => {
      this.#endsAt = undefined;
      if (this.#waiting.length > 0) this.#beginTurn();
    });
    this.#handOn(endsAt);
  }

  #handOn(endsAt: number): void {
    if (this.#clock.now() >= endsAt) return;
    const item = this.#waiting.shift();
    if (item === undefined) return;
    // The next one after all microtasks that this one causes, as if it had a turn of its own.
    if (this.#waiting.length > 0) microtask(() => nextTick(() => this.#handOn(endsAt)));
    this.#take(item);
  }
}
