import type { Environment } from '../session/environment.js';

const FIRST_MS = 100;
const LONGEST_MS = 5000;

/**
 * How long to stay out of the queue after so many terms or tries in a row came to nothing at once: longer each time,
 * and with jitter, so that a candidate whose work can't start neither spins nor wins every other election.
 *
 * @param random - evenly distributed over [0, 1)
 */
export function cooldownMs(setbacks: number, random: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** (setbacks - 1)) * (0.5 + random / 2);
}

/** When a candidate may stand again. */
export class Restraint {
  /** Terms and tries in a row that came to nothing at once. */
  #setbacks = 0;
  #notBefore = 0;

  /**
   * A term, or a try to stand, is over: did it come to nothing at once? Work that fails, or ends as soon as it has begun, must
   * not make the election spin.
   */
  note(fruitless: boolean): void {
    this.#setbacks = fruitless ? this.#setbacks + 1 : 0;
  }

  /** It isn't to stand before `atMs`, by the environment's clock. */
  notBefore(atMs: number): void {
    this.#notBefore = atMs;
  }

  /** For how long it has still to keep out, in milliseconds. */
  pauseMs(environment: Pick<Environment, 'clock' | 'random'>): number {
    if (this.#setbacks === 0 && this.#notBefore === 0) return 0; // As nearly always.
    const fruitlessMs = this.#setbacks > 0 ? cooldownMs(this.#setbacks, environment.random()) : 0;
    return Math.max(0, fruitlessMs, this.#notBefore - environment.clock.now());
  }
}
