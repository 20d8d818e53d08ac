import { type MachineInstant, msUntil, systemSources, type TimeSources } from './machine-instant.js';

const [MONOTONIC, UPTIME] = [0, 1] as const;
/** By a clock that doesn't exist here, or that threads don't share. */
const NEVER = 2n ** 63n - 1n;

/** An instant by each of the machine's clocks, in memory that threads share. It only rises. Each thread reads the clocks itself. */
export class SharedInstant {
  static readonly BYTES = 16;
  readonly #byClock: BigInt64Array;
  readonly #sources: TimeSources;

  /** @param memory - begins with the instant. Of zeros: long ago. @param sources - the machine's clocks */
  constructor(memory: SharedArrayBuffer, sources: TimeSources = systemSources) {
    this.#byClock = new BigInt64Array(memory, 0, 2);
    this.#sources = sources;
  }

  /** Between the two writes it seems to be earlier. */
  raiseTo({ monotonicMs, uptimeMs }: MachineInstant): void {
    this.#raise(UPTIME, uptimeMs);
    this.#raise(MONOTONIC, monotonicMs);
  }

  /** How much time is left until then, in milliseconds; negative after it. Reads the instant first, and then both clocks. */
  msLeft(): number {
    const instant = { monotonicMs: this.#read(MONOTONIC), uptimeMs: this.#read(UPTIME) };
    return msUntil(instant, this.#sources);
  }

  #raise(place: number, ms: number | undefined): void {
    const raised = ms === undefined ? NEVER : BigInt(Math.floor(ms * 1e6));
    let before = Atomics.load(this.#byClock, place);
    while (before < raised) {
      const found = Atomics.compareExchange(this.#byClock, place, before, raised);
      if (found === before) return;
      before = found; // Another thread has raised it.
    }
  }

  #read(place: number): number | undefined {
    const ns = Atomics.load(this.#byClock, place);
    return ns === NEVER ? undefined : Number(ns) / 1e6;
  }
}
