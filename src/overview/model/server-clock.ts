/** So many samples are looked at: the clocks may drift apart, or be set. */
const SAMPLES = 64;

/**
 * How far the servers' clock is ahead of this process's, as far as reads show it. A node that was written at `t` by the servers' clock was read
 * after that: so the servers' clock was at `t` at least. Of several samples the greatest difference is the best one. Only reads right after a
 * write tell something, of a heartbeat say. It is early by no more than the shortest time between such a write and its read, some milliseconds.
 */
export class ServerClock {
  readonly #samples: number[] = [];
  #aheadMs = 0;

  /** @param writtenAtMs - by the servers' clock, of what was written a moment ago. @param nowMs - the time of day here, after the read */
  sample(writtenAtMs: number, nowMs: number): void {
    this.#samples.push(writtenAtMs - nowMs);
    if (this.#samples.length > SAMPLES) this.#samples.shift();
    this.#aheadMs = Math.max(...this.#samples);
  }

  /** A time of the servers' clock, by this process's. */
  toLocal(atMs: number): number {
    // A write can't be later than now. What the samples are late by, a few milliseconds, is no difference between the clocks.
    return Math.abs(this.#aheadMs) < SAME_MS ? atMs : Math.round(atMs - this.#aheadMs);
  }
}

/** Clocks that are kept in step by NTP differ by less; a difference of that size may be the time of a read. */
const SAME_MS = 50;
