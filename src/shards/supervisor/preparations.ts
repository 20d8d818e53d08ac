import { onAbort } from '../../platform/async/lazy-abort-controller.js';
import type { Clock, Timer } from '../../platform/time/clock.js';
import { PREPARED_WAIT_MS } from '../planner/handover-waits.js';

/** A shard that is to come from another member. */
export interface ComingShard {
  /** The shard's id. */
  readonly id: string;
  /** Its place among the group's shards, from 0. */
  readonly index: number;
  /** Aborts when the shard is no longer expected, or has come. */
  readonly signal: AbortSignal;
}

export interface PreparationsPort {
  /** The ids of those that are prepared and haven't come yet. */
  onReady(shards: readonly string[]): void;
  onFailed(id: string, cause: unknown): void;
  /** A call has taken as long as it may hold up a move, and goes on. */
  onHanging(id: string): void;
}

interface Preparation {
  readonly id: string;
  readonly index: number;
  readonly controller: AbortController;
  state: 'waiting' | 'running' | 'ready' | 'failed';
}

/**
 * How many calls may be under way at a time. Each may load a shard's state from a store, and a member that joins a large group gets many
 * shards at the same time. A call that hangs doesn't count for longer than its shard is to come, and `PREPARE_TIMEOUT_MS`.
 */
export const MOST_CALLS = 16;

/** Calls the hook `prepare` for the shards that a member is to get from others, some at a time. */
export class Preparations {
  readonly #prepare: (shard: ComingShard) => unknown;
  readonly #clock: Clock;
  readonly #port: PreparationsPort;
  readonly #shards = new Map<string, Preparation>();
  /** Those that count as under way. */
  readonly #running = new Set<Preparation>();
  /** Of the calls that haven't settled. */
  readonly #timers = new Set<Timer>();

  constructor(prepare: (shard: ComingShard) => unknown, clock: Clock, port: PreparationsPort) {
    this.#prepare = prepare;
    this.#clock = clock;
    this.#port = port;
  }

  /** These shards are to come, and no others. Earlier preparations for them still count. */
  follow(coming: readonly { readonly id: string; readonly index: number }[]): void {
    const ids = new Set(coming.map(({ id }) => id));
    const gone = [...this.#shards.values()].filter(({ id }) => !ids.has(id));
    for (const { id } of gone) this.#shards.delete(id);
    // Only now: the end of a call begins the next one.
    for (const { id, controller } of gone)
      controller.abort(new Error(`shard ${id} is no longer expected, or has come`));
    for (const { id, index } of coming)
      if (!this.#shards.has(id))
        this.#shards.set(id, { id, index, controller: new AbortController(), state: 'waiting' });
    if (gone.some(({ state }) => state === 'ready')) this.#tell();
    this.#next();
  }

  /** No shard is to come any more, and no call is said to hang. */
  stop(): void {
    this.follow([]);
    for (const timer of this.#timers) timer.clear();
    this.#timers.clear();
  }

  #next(): void {
    for (const preparation of this.#shards.values()) {
      if (this.#running.size >= MOST_CALLS) return;
      if (preparation.state === 'waiting') void this.#call(preparation); // Never rejects.
    }
  }

  async #call(preparation: Preparation): Promise<void> {
    const { id, index, controller } = preparation;
    const { signal } = controller;
    this.#running.add(preparation);
    const leave = () => {
      if (this.#running.delete(preparation)) this.#next();
    };
    const unsubscribe = onAbort(signal, leave);
    // Runs on when the shard has come, since its owner didn't wait any longer, or is to come no more: the hook should have ended then.
    const timer = this.#clock.after(PREPARED_WAIT_MS, () => {
      this.#timers.delete(timer);
      leave();
      this.#port.onHanging(id);
    });
    this.#timers.add(timer);
    preparation.state = 'running';
    try {
      await Promise.resolve(); // The application's code never runs on the caller's stack.
      if (signal.aborted) return;
      await this.#prepare({ id, index, signal });
      preparation.state = 'ready';
      if (!signal.aborted) this.#tell();
    } catch (cause) {
      preparation.state = 'failed';
      if (!signal.aborted) this.#port.onFailed(id, cause);
    } finally {
      timer.clear();
      this.#timers.delete(timer);
      unsubscribe();
      leave();
    }
  }

  #tell(): void {
    this.#port.onReady([...this.#shards].filter(([, { state }]) => state === 'ready').map(([id]) => id));
  }
}
