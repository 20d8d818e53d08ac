import { ignore } from '../platform/async/promises.js';
import { isWithin, runWithin } from '../platform/async/work-context.js';
import type { Clock, Timer } from '../platform/time/clock.js';
import { TermContext } from './current-term.js';
import type { HeldTerm } from './held-term.js';
import type { OwnNode } from './own-node.js';

/** The time that is over while work still runs: the lease, or the grace that the end of the term leaves to the work. */
export type Overrun = 'lease' | 'grace';

/**
 * The work that runs while a term is held. The term isn't given back before all of the work has settled. Until then the node
 * stays, and its lease goes on.
 */
export class WorkWhileHeld<Kind extends string> {
  readonly #node: OwnNode;
  readonly #clock: Clock;
  readonly #term: HeldTerm;
  readonly #onFailed: (cause: unknown) => void;
  /** The work that still has to settle. */
  readonly #unsettled = new Map<Promise<void>, Kind>();
  /** Shows whether a caller belongs to the holder's own work. */
  readonly #context: TermContext;

  /**
   * @param path - what is held: see {@link TermContext}
   * @param onFailed - called when work has rejected for a reason other than the end of the hold
   */
  constructor(term: HeldTerm, path: string, node: OwnNode, clock: Clock, onFailed: (cause: unknown) => void) {
    this.#term = term;
    this.#context = new TermContext(term, path);
    this.#node = node;
    this.#clock = clock;
    this.#onFailed = onFailed;
  }

  /**
   * Adds `work` to the work that has to settle. A function is counted before it is called, since it may ask for the end before it
   * returns a promise.
   * @throws the reason of the hold's signal if {@link settled} was called and all work has settled
   */
  add(work: Promise<unknown> | (() => unknown), kind: Kind): void {
    if (this.#context.hasEnded) throw this.#term.signal.reason;
    const promise =
      typeof work === 'function' ? Promise.resolve().then(() => this.run(work)) : Promise.resolve(work);
    const settled: Promise<void> = promise
      .then(ignore, (cause: unknown) => {
        if (!isEndOf(this.#term.signal, cause)) this.#onFailed(cause);
      })
      .finally(() => this.#unsettled.delete(settled));
    this.#unsettled.set(settled, kind);
  }

  /** Calls `work`, which may begin more work. Until all work has settled, {@link isAround} is true in the code that it calls. */
  run<T>(work: () => T): T {
    return runWithin(this.#context, work);
  }

  /** Whether the caller belongs to this work. */
  get isAround(): boolean {
    return isWithin(this.#context);
  }

  get count(): number {
    return this.#unsettled.size;
  }

  /** How many pieces of that kind still have to settle. */
  countOf(kind: Kind): number {
    return [...this.#unsettled.values()].filter((each) => each === kind).length;
  }

  /**
   * Resolves when all work has settled, including work that was added meanwhile.
   * @param by - the time by which the work has to settle, by the clock
   * @param onOverrun - called once with `grace` if that time has come, and once with `lease` if the lease is over, before the work has
   *   settled. If the work has blocked the event loop past the end of the lease, no timer says so before it has settled: then it is called
   *   when it has
   * @param mayBeReplaced - whether the lease has been over for so long that another holder may act
   */
  async settled(by: number, onOverrun: (over: Overrun) => void, mayBeReplaced: () => boolean): Promise<void> {
    if (this.#unsettled.size > 0) {
      const watch = this.#watchOverrun(onOverrun, by);
      while (this.#unsettled.size > 0) await Promise.all(this.#unsettled.keys());
      watch.end(mayBeReplaced());
    }
    this.#context.finish();
  }

  #watchOverrun(onOverrun: (over: Overrun) => void, by: number): { end(hasOverrun: boolean): void } {
    let timer: Timer;
    let graceBy = by;
    let isLeaseOver = false;
    const reportLease = () => {
      isLeaseOver = true;
      onOverrun('lease');
    };
    const graceMs = () => Math.max(0, graceBy - this.#clock.now());
    const arm = () => {
      // Heartbeats extend the lease meanwhile: only its real end counts.
      timer = this.#clock.after(Math.min(this.#node.remainingMs(), graceMs()), () => {
        if (this.#unsettled.size === 0) return;
        if (this.#node.remainingMs() <= 0) return reportLease();
        if (graceMs() <= 0) {
          graceBy = Number.POSITIVE_INFINITY;
          onOverrun('grace');
        }
        arm();
      });
    };
    arm();
    const end = (hasOverrun: boolean) => {
      timer.clear();
      if (hasOverrun && !isLeaseOver) reportLease();
    };
    return { end };
  }
}

/** Whether work has ended as it should: after the abort it rejected with the signal's reason, or with any abort error. */
export function isEndOf(signal: AbortSignal, cause: unknown): boolean {
  if (!signal.aborted) return false;
  return cause === signal.reason || (cause instanceof Error && cause.name === 'AbortError');
}
