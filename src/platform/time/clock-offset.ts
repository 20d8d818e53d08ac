/**
 * Estimates how far another clock is ahead of this process's clock, by messages that say what the other clock showed when they were
 * written. A message arrives late by an unknown time, so the least late one of the newest messages counts. Older ones don't, because
 * clocks drift apart and are set, and computers sleep.
 */
export class ClockOffset {
  readonly #samples: number[] = [];
  readonly #most: number;

  /** @param most - how many of the newest samples count */
  constructor(most: number) {
    this.#most = most;
  }

  /** @param writtenAt - by the other clock. @param now - by this process's clock when the message came; both in milliseconds */
  sample(writtenAt: number, now: number): void {
    this.#samples.push(writtenAt - now);
    if (this.#samples.length > this.#most) this.#samples.shift();
  }

  /** 0 before the first sample. */
  get aheadMs(): number {
    return this.#samples.length === 0 ? 0 : Math.max(...this.#samples);
  }
}
