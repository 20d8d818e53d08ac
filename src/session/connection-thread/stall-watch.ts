import type { Clock, Timer } from '../../platform/time/clock.js';
import { machineInstantIn, type TimeSources } from '../../platform/time/machine-instant.js';
import { SharedInstant } from '../../platform/time/shared-instant.js';

const [MOST_TURNS_PAUSE_MS, MOST_LOOKS_PAUSE_MS] = [1000, 500];

/** How often the main thread shows that its loop turns, in milliseconds. */
function turnsEveryMs(maxStallMs: number): number {
  return Math.min(maxStallMs / 8, MOST_TURNS_PAUSE_MS);
}

/** How often the connection's thread looks, in milliseconds. */
export function looksEveryMs(maxStallMs: number): number {
  return Math.min(maxStallMs / 16, MOST_LOOKS_PAUSE_MS);
}

/**
 * Shows the connection's thread that the main thread's event loop turns, in memory that both read: with each turn it says until when the
 * loop counts as turning. A timer does that, and nothing else: neither requests nor `isHeld()` show that the loop turns.
 *
 * The loop counts as turning until `maxStallMs` after the next turn that is to be shown. If it stands still right before that one, the
 * memory knows only the turn before it, and a stall may still last for `maxStallMs` from its beginning.
 */
export class ShownTurns {
  readonly #clock: Clock;
  readonly #maxStallMs: number;
  readonly memory = new SharedArrayBuffer(SharedInstant.BYTES);
  readonly #turning: SharedInstant;
  #timer: Timer | undefined;

  /** @throws InvalidStateError if threads share no clock */
  constructor(clock: Clock, maxStallMs: number) {
    this.#clock = clock;
    this.#maxStallMs = maxStallMs;
    this.#turning = new SharedInstant(this.memory, clock.sources);
    this.#turn();
  }

  /** The loop has turned. The timer for the next turn doesn't keep the process alive. */
  #turn(): void {
    const nextInMs = turnsEveryMs(this.#maxStallMs);
    this.#turning.raiseTo(machineInstantIn(() => nextInMs + this.#maxStallMs, this.#clock.sources));
    this.#timer = this.#clock.after(nextInMs, () => this.#turn(), { background: true });
  }

  stop(): void {
    this.#timer?.clear();
  }
}

/**
 * Whether the main thread's event loop has turned within `maxStallMs`. The answer becomes `false` between `maxStallMs` after the last turn
 * and 9/8 of it, or a second more than it if that is less. The thread asks right before it sends anything. A thread that has stood still
 * itself finds no later turn than there was.
 */
export class StallWatch {
  readonly #turning: SharedInstant;

  constructor(memory: SharedArrayBuffer, sources: TimeSources | undefined) {
    this.#turning = new SharedInstant(memory, sources);
  }

  turns(): boolean {
    return this.#turning.msLeft() > 0;
  }
}
