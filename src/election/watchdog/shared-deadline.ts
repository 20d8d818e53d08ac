import { SharedLease } from '../../lease/shared-lease.js';
import { machineInstantIn, msUntil } from '../../platform/time/machine-instant.js';

/** The states of the watchdog: no term to guard, a term to guard until the deadline, and the end of its thread. */
const [IDLE, GUARDING, STOPPED] = [0, 1, 2] as const;
const [CHANGES, STATE] = [0, 1] as const; // Places of whole numbers.
const [MONOTONIC, UPTIME] = [1, 2] as const; // Places of instants, behind those numbers.
const PLACES = 3;
/** The main thread itself ends a term when the lease is over. If it hasn't done that after this margin, it is blocked. */
export const MARGIN_MS = 50;
// The thread's sleep doesn't go on while the machine is suspended, so it looks at the clocks again.
const LONGEST_SLEEP_MS = 250;

/** The memory that the main thread shares with the watchdog's thread. */
export interface DeadlineMemory {
  readonly deadline: SharedArrayBuffer;
  readonly lease: SharedArrayBuffer;
}

/**
 * The deadline of the watchdog, in memory that the main thread writes and the watchdog's thread reads. It is an instant by the clocks
 * of the machine, which both threads share.
 *
 * A third thread may hold the session's connection, and extend the leases while the main thread is blocked. So the deadline is the later of
 * that instant and of the end of the lease in shared memory.
 */
export class SharedDeadline {
  readonly memory: DeadlineMemory;
  readonly lease: SharedLease;
  readonly #numbers: Int32Array;
  readonly #instants: Float64Array;

  constructor(memory?: DeadlineMemory) {
    const deadline = memory?.deadline ?? new SharedArrayBuffer(PLACES * Float64Array.BYTES_PER_ELEMENT);
    this.lease = new SharedLease(memory?.lease);
    this.memory = { deadline, lease: this.lease.memory };
    this.#numbers = new Int32Array(deadline, 0, 2);
    this.#instants = new Float64Array(deadline);
  }

  /**
   * Sets the deadline to `ms()` milliseconds from now. `ms` is called after the clocks were read, so that a pause in between makes the
   * deadline earlier and never later.
   * @throws InvalidStateError where threads share no clock
   */
  setIn(ms: () => number): void {
    const { monotonicMs, uptimeMs } = machineInstantIn(ms);
    this.#instants[MONOTONIC] = monotonicMs ?? Number.POSITIVE_INFINITY;
    this.#instants[UPTIME] = uptimeMs ?? Number.POSITIVE_INFINITY;
    this.#become(GUARDING);
  }

  clear(): void {
    this.#become(IDLE);
  }

  /** Ends the other thread's {@link wait}. */
  stop(): void {
    this.#become(STOPPED);
  }

  #become(state: number): void {
    this.#numbers[STATE] = state;
    Atomics.add(this.#numbers, CHANGES, 1);
    Atomics.notify(this.#numbers, CHANGES);
  }

  /** Blocks this thread until the deadline has passed, or until {@link stop}. Returns whether the deadline has passed. */
  wait(): boolean {
    for (;;) {
      const changes = Atomics.load(this.#numbers, CHANGES);
      const state = Atomics.load(this.#numbers, STATE);
      if (state === STOPPED) return false;
      const leftMs = state === GUARDING ? this.#leftMs() : Number.POSITIVE_INFINITY;
      if (changes !== Atomics.load(this.#numbers, CHANGES)) continue; // The deadline was changed while it was read.
      if (leftMs <= 0) return true;
      const sleepMs = state === GUARDING ? Math.min(leftMs, LONGEST_SLEEP_MS) : leftMs;
      Atomics.wait(this.#numbers, CHANGES, changes, sleepMs);
    }
  }

  #leftMs(): number {
    const leftMs = msUntil({ monotonicMs: this.#instants[MONOTONIC], uptimeMs: this.#instants[UPTIME] });
    return Math.max(leftMs, this.lease.leftMs() + MARGIN_MS);
  }
}
