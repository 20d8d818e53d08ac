import { ShardFailedError } from '../../errors.js';
import { ignore } from '../../platform/async/promises.js';
import type { Environment } from '../../platform/injected-environment.js';
import { backoffMs, type RetryPolicy } from '../../platform/retry/backoff.js';
import { sleep } from '../../platform/time/clock.js';
import type { OwnedShard, Shard } from '../ownership/owned-shard.js';
import type { FailedShardBackoff } from './failed-shard-backoff.js';

/** Work that has run for so long was well: if it fails then, that is its first failure. */
export const LONG_RUN_MS = 60_000;

export interface ShardWorkOptions {
  readonly run: (shard: Shard) => unknown;
  readonly runRetry: RetryPolicy;
  readonly environment: Pick<Environment, 'clock' | 'random'>;
  /** Gets each failure. */
  readonly report: (error: ShardFailedError) => void;
  readonly refusals: Pick<FailedShardBackoff, 'refuse' | 'forget'>;
}

/**
 * Calls the application's work for a shard that is owned; again, with back-off, when that fails. Until the work has returned, the shard has
 * ended, or there is no further try: then the process refuses the shard.
 */
export async function workOn(
  shard: OwnedShard,
  { run, runRetry, environment, report, refusals }: ShardWorkOptions,
): Promise<void> {
  const { clock } = environment;
  for (let failures = 0; ; ) {
    const since = clock.now();
    try {
      try {
        await run(shard);
      } finally {
        // Also if it ends with the shard, as work does that was well all the time.
        if (clock.now() - since >= LONG_RUN_MS) {
          refusals.forget(shard.id);
          failures = 0;
        }
      }
      return;
    } catch (cause) {
      if (shard.signal.aborted) throw cause; // Mostly because of that.
      failures++;
      report(new ShardFailedError(shard.id, cause, failures));
      if (failures > runRetry.retries) return refusals.refuse(shard.id);
      await sleep(clock, backoffMs(failures, runRetry, environment.random()), shard.signal).catch(ignore);
      if (shard.signal.aborted) return;
    }
  }
}
