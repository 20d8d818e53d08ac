import { ShardFailedError } from '../../errors.js';
import { ignore } from '../../platform/async/promises.js';
import type { Environment } from '../../platform/injected-environment.js';
import { backoffMs, type RetryPolicy } from '../../platform/retry/backoff.js';
import { sleep } from '../../platform/time/clock.js';
import type { OwnedShard, Shard } from '../ownership/owned-shard.js';

/** Work that has run for so long was well: if it fails then, that is its first failure. */
export const LONG_RUN_MS = 60_000;

export interface ShardWorkPort {
  /** It has failed, and is about to be tried again, or has been tried too often. */
  onFailed(error: ShardFailedError): void;
  /** It has failed too often in a row. */
  onGivenUp(shard: OwnedShard): void;
  /** It had run for a long time before it failed. */
  onWell(shard: OwnedShard): void;
}

export interface ShardWorkOptions {
  readonly run: ((shard: Shard) => unknown) | undefined;
  readonly runRetry: RetryPolicy;
  readonly environment: Pick<Environment, 'clock' | 'random'>;
}

/** Calls the application's work for each shard that is owned; again, with back-off, when that fails. */
export class ShardWork {
  readonly #options: ShardWorkOptions;
  readonly #port: ShardWorkPort;

  constructor(options: ShardWorkOptions, port: ShardWorkPort) {
    this.#options = options;
    this.#port = port;
  }

  begin(shard: OwnedShard): void {
    const { run } = this.#options;
    if (run !== undefined) shard.work(() => this.#run(shard, run));
  }

  /** Until the work has returned, the shard has ended, or there is no further try. */
  async #run(shard: OwnedShard, run: (shard: Shard) => unknown): Promise<void> {
    const { runRetry, environment } = this.#options;
    const { clock } = environment;
    for (let failures = 0; ; ) {
      const since = clock.now();
      try {
        await run(shard);
        return;
      } catch (cause) {
        if (shard.signal.aborted) throw cause; // Mostly because of that.
        const wasWell = clock.now() - since >= LONG_RUN_MS;
        if (wasWell) this.#port.onWell(shard);
        failures = wasWell ? 1 : failures + 1;
        this.#port.onFailed(new ShardFailedError(shard.id, cause, failures));
        if (failures > runRetry.retries) return this.#port.onGivenUp(shard);
        await sleep(clock, backoffMs(failures, runRetry, environment.random()), shard.signal).catch(ignore);
        if (shard.signal.aborted) return;
      }
    }
  }
}
