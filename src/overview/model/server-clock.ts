import { ClockOffset } from '../../platform/time/clock-offset.js';

/**
 * The servers' clock. Each sample is a read of a node and the time at which it was written. Only a read right after the write, as of
 * a heartbeat, is a useful sample. The estimate is too small by the shortest time between such a write and its read: some milliseconds.
 */
export class ServerClock extends ClockOffset {
  constructor() {
    super(64);
  }

  /** Converts a time of the servers' clock to this process's clock. */
  toLocal(atMs: number): number {
    // A write can't be later than now. The samples are a few milliseconds late, which is no difference between the clocks.
    return Math.abs(this.aheadMs) < SAME_MS ? atMs : Math.round(atMs - this.aheadMs);
  }
}

/** Clocks that NTP keeps in step differ by less. A difference of this size may be the time that a read took. */
const SAME_MS = 50;
