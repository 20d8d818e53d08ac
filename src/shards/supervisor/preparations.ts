/** A shard that is to come from another member. */
export interface ComingShard {
  /** The shard's id. */
  readonly id: string;
  /** Its place among the group's shards, from 0. */
  readonly index: number;
  /** Aborts when it isn't to come any more, or has come. */
  readonly signal: AbortSignal;
}

export interface PreparationsPort {
  /** The ids of those that are prepared and haven't come yet. */
  onReady(shards: readonly string[]): void;
  onFailed(id: string, cause: unknown): void;
}

interface Preparation {
  readonly controller: AbortController;
  state: 'waiting' | 'running' | 'ready' | 'failed';
}

/** Calls the hook `prepare` for the shards that a member is to get from others, some at a time. */
export class Preparations {
  readonly #prepare: (shard: ComingShard) => unknown;
  readonly #concurrency: number;
  readonly #port: PreparationsPort;
  readonly #shards = new Map<string, Preparation>();

  /** @param concurrency - how many calls may be under way at a time */
  constructor(prepare: (shard: ComingShard) => unknown, concurrency: number, port: PreparationsPort) {
    this.#prepare = prepare;
    this.#concurrency = concurrency;
    this.#port = port;
  }

  /** These are to come, and no others. What was prepared for them before still counts. */
  follow(coming: readonly { readonly id: string; readonly index: number }[]): void {
    const ids = new Set(coming.map(({ id }) => id));
    let wasReady = false;
    for (const [id, { controller, state }] of this.#shards) {
      if (ids.has(id)) continue;
      this.#shards.delete(id);
      wasReady ||= state === 'ready';
      controller.abort(new Error(`shard ${id} is not to come any more, or has come`));
    }
    for (const { id, index } of coming) {
      if (this.#shards.has(id)) continue;
      const preparation: Preparation = { controller: new AbortController(), state: 'waiting' };
      this.#shards.set(id, preparation);
      this.#waiting.push({ id, index, preparation });
    }
    if (wasReady) this.#tell();
    this.#next();
  }

  readonly #waiting: { id: string; index: number; preparation: Preparation }[] = [];
  #running = 0;

  #next(): void {
    while (this.#running < this.#concurrency) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (next.preparation.controller.signal.aborted) continue;
      this.#running++;
      void this.#call(next.id, next.index, next.preparation); // Never rejects.
    }
  }

  async #call(id: string, index: number, preparation: Preparation): Promise<void> {
    const { signal } = preparation.controller;
    preparation.state = 'running';
    try {
      await Promise.resolve(); // The application's code never runs on the caller's stack.
      await this.#prepare({ id, index, signal });
      preparation.state = 'ready';
      if (!signal.aborted) this.#tell();
    } catch (cause) {
      preparation.state = 'failed';
      if (!signal.aborted) this.#port.onFailed(id, cause);
    } finally {
      this.#running--;
      this.#next();
    }
  }

  #tell(): void {
    this.#port.onReady([...this.#shards].filter(([, { state }]) => state === 'ready').map(([id]) => id));
  }
}
