import type { Clock, Timer } from '../../platform/time/clock.js';

const [MOST_TURNS_PAUSE_MS, MOST_LOOKS_PAUSE_MS] = [1000, 500];

/** How often the main thread raises the counter, in milliseconds. */
export function turnsEveryMs(maxStallMs: number): number {
  return Math.min(maxStallMs / 8, MOST_TURNS_PAUSE_MS);
}

/** How often the connection's thread looks at the counter, in milliseconds. */
export function looksEveryMs(maxStallMs: number): number {
  return Math.min(maxStallMs / 16, MOST_LOOKS_PAUSE_MS);
}

/**
 * Counts turns of the main thread's event loop, in memory that the connection's thread reads. A timer raises the counter, and nothing
 * else does: neither requests nor `isHeld()` show that the loop turns.
 */
export class TurnCounter {
  readonly memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #clock: Clock;
  readonly #everyMs: number;
  #timer: Timer | undefined;

  constructor(clock: Clock, maxStallMs: number) {
    this.#clock = clock;
    this.#everyMs = turnsEveryMs(maxStallMs);
  }

  /** Counts from now on. The timer doesn't keep the process alive. */
  start(): void {
    this.#timer ??= this.#after();
  }

  stop(): void {
    this.#timer?.clear();
    this.#timer = undefined;
  }

  #after(): Timer {
    const count = () => {
      Atomics.add(new Int32Array(this.memory), 0, 1);
      this.#timer = this.#after();
    };
    return this.#clock.after(this.#everyMs, count, { background: true });
  }
}

/**
 * Whether the main thread's event loop has turned within `maxStallMs`, as its counter shows. The counter is up to an eighth of
 * `maxStallMs` behind the loop, and a look up to a sixteenth behind the counter. So the answer becomes `false` between 7/8 and 9/8 of
 * `maxStallMs` after the last turn, if the thread looks every {@link looksEveryMs}.
 */
export class StallWatch {
  readonly #counter: Int32Array;
  readonly #maxStallMs: number;
  #count: number;
  #movedAt: number;

  /** @param turnedAt - when the loop turned last, at the latest: the main thread has asked for this watch then */
  constructor(memory: SharedArrayBuffer, maxStallMs: number, turnedAt: number) {
    this.#counter = new Int32Array(memory);
    this.#maxStallMs = maxStallMs;
    this.#count = this.#read();
    this.#movedAt = turnedAt;
  }

  /** Looks at the counter. @param now - by the clock of `turnedAt` */
  turnsAt(now: number): boolean {
    const count = this.#read();
    if (count !== this.#count) {
      this.#count = count;
      this.#movedAt = now;
    }
    return now - this.#movedAt < this.#maxStallMs;
  }

  #read(): number {
    return Atomics.load(this.#counter, 0);
  }
}
