import type { Environment } from '../platform/environment.js';

import { jitteredPauseMs } from '../platform/retry/backoff.js';

/** When a candidate may stand again. */
export class RejoinBackoff {
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
    const fruitlessMs = this.#setbacks > 0 ? jitteredPauseMs(this.#setbacks, environment.random()) : 0;
    return Math.max(0, fruitlessMs, this.#notBefore - environment.clock.now());
  }
}
