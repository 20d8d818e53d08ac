import type { Environment } from '../platform/environment.js';
import { jitteredPauseMs } from '../platform/retry/backoff.js';

/** When a candidate may join the queue again. */
export class RejoinBackoff {
  /** Terms and attempts in a row that came to nothing at once. */
  #failedAttempts = 0;
  #notBefore = 0;

  /** Whether a term, or an attempt to join, came to nothing at once: work that does so must not make the election spin. */
  note(fruitless: boolean): void {
    this.#failedAttempts = fruitless ? this.#failedAttempts + 1 : 0;
  }

  /** The candidate isn't to join before `atMs`, by the environment's clock. */
  notBefore(atMs: number): void {
    this.#notBefore = atMs;
  }

  /** How long the candidate has still to stay out, in milliseconds. */
  pauseMs(environment: Pick<Environment, 'clock' | 'random'>): number {
    if (this.#failedAttempts === 0 && this.#notBefore === 0) return 0; // As nearly always.
    const fruitlessMs =
      this.#failedAttempts > 0 ? jitteredPauseMs(this.#failedAttempts, environment.random()) : 0;
    return Math.max(0, fruitlessMs, this.#notBefore - environment.clock.now());
  }
}
