import { ShardFailedError } from '../../errors.js';
import { ignore } from '../../platform/async/promises.js';
import type { Environment } from '../../platform/injected-environment.js';
import { backoffMs, jitteredPauseMs, type RetryPolicy } from '../../platform/retry/backoff.js';
import { sleep, type Timer } from '../../platform/time/clock.js';
import type { OwnedShard, Shard } from '../ownership/owned-shard.js';

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
      await run(shard);
      return;
    } catch (cause) {
      if (shard.signal.aborted) throw cause; // Mostly because of that.
      const wasWell = clock.now() - since >= LONG_RUN_MS;
      if (wasWell) refusals.forget(shard.id);
      failures = wasWell ? 1 : failures + 1;
      report(new ShardFailedError(shard.id, cause, failures));
      if (failures > runRetry.retries) return refusals.refuse(shard.id);
      await sleep(clock, backoffMs(failures, runRetry, environment.random()), shard.signal).catch(ignore);
      if (shard.signal.aborted) return;
    }
  }
}

const FIRST_MS = 20_000;
const LONGEST_MS = 600_000;

interface Refusal {
  /** How often in a row. */
  readonly count: number;
  /** While it lasts. */
  readonly timer: Timer | undefined;
}

/**
 * The shards that this process doesn't take for a while, since their work has failed here: 10 to 20 s at first, twice as long each time in
 * a row, up to 10 minutes. Other members get them meanwhile. It outlasts sessions.
 */
export class FailedShardBackoff {
  readonly #environment: Pick<Environment, 'clock' | 'random'>;
  readonly #onChange: () => void;
  readonly #refusals = new Map<string, Refusal>();

  constructor(environment: Pick<Environment, 'clock' | 'random'>, onChange: () => void) {
    this.#environment = environment;
    this.#onChange = onChange;
  }

  /** The ids of those that it doesn't take now. */
  get shards(): string[] {
    return [...this.#refusals].flatMap(([id, { timer }]) => (timer === undefined ? [] : [id]));
  }

  refuse(id: string): void {
    const { clock, random } = this.#environment;
    const before = this.#refusals.get(id);
    if (before?.timer !== undefined) return;
    const count = (before?.count ?? 0) + 1;
    const timer = clock.after(jitteredPauseMs(count, random(), FIRST_MS, LONGEST_MS), () => {
      this.#refusals.set(id, { count, timer: undefined });
      this.#onChange();
    });
    this.#refusals.set(id, { count, timer });
    this.#onChange();
  }

  /** Its work is well here: if it fails, that is the first time. */
  forget(id: string): void {
    if (this.#refusals.get(id)?.timer === undefined) this.#refusals.delete(id);
  }

  stop(): void {
    for (const { timer } of this.#refusals.values()) timer?.clear();
    this.#refusals.clear();
  }
}
