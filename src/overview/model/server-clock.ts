/** How many samples count. Older ones don't, because the clocks may drift apart, or be set. */
const SAMPLES = 64;

/**
 * How far the servers' clock is ahead of this process's clock, as far as reads show it. If a node was written at `t` by the servers' clock,
 * and then read, the servers' clock was at `t` at least. Of several samples the greatest difference is the best one. Only a read right
 * after a write, such as a heartbeat, is a useful sample. The result is too small by no more than the shortest time between such a write
 * and its read: some milliseconds.
 */
export class ServerClock {
  readonly #samples: number[] = [];
  #aheadMs = 0;

  /**
   * @param writtenAtMs - when a node was written a moment ago, by the servers' clock.
   * @param nowMs - the time of day here, after the read
   */
  sample(writtenAtMs: number, nowMs: number): void {
    this.#samples.push(writtenAtMs - nowMs);
    if (this.#samples.length > SAMPLES) this.#samples.shift();
    this.#aheadMs = Math.max(...this.#samples);
  }

  /** Converts a time of the servers' clock to this process's clock. */
  toLocal(atMs: number): number {
    // A write can't be later than now. The samples are a few milliseconds late, which is no difference between the clocks.
    return Math.abs(this.#aheadMs) < SAME_MS ? atMs : Math.round(atMs - this.#aheadMs);
  }
}

/** Clocks that NTP keeps in step differ by less. A difference of this size may be the time that a read took. */
const SAME_MS = 50;
