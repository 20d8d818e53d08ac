import { ignore } from '../platform/async/promises.js';
import { isWithin, runWithin, WorkContext } from '../platform/async/work-context.js';
import type { Clock, Timer } from '../platform/time/clock.js';
import type { EphemeralNode } from './ephemeral-node.js';

/**
 * The work that is done while something is held: that isn't given back before all of it has settled. Until then the node is kept, and
 * its lease goes on.
 */
export class HeldWork<Kind extends string> {
  readonly #node: EphemeralNode;
  readonly #clock: Clock;
  readonly #hold: { readonly signal: AbortSignal };
  readonly #onFailed: (cause: unknown) => void;
  /** What has still to settle. */
  readonly #unsettled = new Map<Promise<void>, Kind>();
  /** Tells the holder's own work from other callers that ask for the end. */
  readonly #context = new WorkContext();

  /**
   * @param hold - what is held; its signal aborts when that ends
   * @param onFailed - work has rejected, and not because of that end
   */
  constructor(
    hold: { readonly signal: AbortSignal },
    node: EphemeralNode,
    clock: Clock,
    onFailed: (cause: unknown) => void,
  ) {
    this.#hold = hold;
    this.#node = node;
    this.#clock = clock;
    this.#onFailed = onFailed;
  }

  /** Waits for `work`, too. A function is called after it is counted: it may ask for the end before it has returned a promise. */
  add(work: Promise<unknown> | (() => unknown), kind: Kind): void {
    const promise =
      typeof work === 'function' ? Promise.resolve().then(() => this.run(work)) : Promise.resolve(work);
    const settled: Promise<void> = promise
      .then(ignore, (cause: unknown) => {
        if (!this.#isItsEnd(cause)) this.#onFailed(cause);
      })
      .finally(() => this.#unsettled.delete(settled));
    this.#unsettled.set(settled, kind);
  }

  /** Calls what may begin work: until all has settled, {@link isAround} is true in what that calls. */
  run<T>(work: () => T): T {
    return runWithin(this.#context, work);
  }

  /** Whether the caller is this work. */
  get isAround(): boolean {
    return isWithin(this.#context);
  }

  /** Whether all has settled, after {@link settled} was called. */
  get hasEnded(): boolean {
    return this.#context.hasEnded;
  }

  get count(): number {
    return this.#unsettled.size;
  }

  /** Of what has still to settle, how many are of that kind. */
  countOf(kind: Kind): number {
    return [...this.#unsettled.values()].filter((each) => each === kind).length;
  }

  /**
   * Resolves when all has settled, also work that was added meanwhile.
   * @param by - until when it may last, by the clock
   * @param onOverrun - called once if the lease, or that time, is over before
   */
  async settled(by: number, onOverrun: () => void): Promise<void> {
    if (this.#unsettled.size > 0) {
      const watch = this.#watchOverrun(onOverrun, by);
      while (this.#unsettled.size > 0) await Promise.all(this.#unsettled.keys());
      watch.clear();
    }
    this.#context.finish();
  }

  #watchOverrun(onOverrun: () => void, by: number): Timer {
    let timer: Timer;
    // The lease goes on: only its real end counts.
    const leftMs = () => Math.min(this.#node.remainingMs(), Math.max(0, by - this.#clock.now()));
    const arm = () => {
      timer = this.#clock.after(leftMs(), () => {
        if (leftMs() > 0) arm();
        else if (this.#unsettled.size > 0) onOverrun();
      });
    };
    arm();
    return { clear: () => timer.clear() };
  }

  /** Work that rejects with the signal's reason, or any abort error, after the abort has ended as it should. */
  #isItsEnd(cause: unknown): boolean {
    const { signal } = this.#hold;
    if (!signal.aborted) return false;
    return cause === signal.reason || (cause instanceof Error && cause.name === 'AbortError');
  }
}
