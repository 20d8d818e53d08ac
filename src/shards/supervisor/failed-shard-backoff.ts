import type { Environment } from '../../platform/injected-environment.js';
import { jitteredPauseMs } from '../../platform/retry/backoff.js';
import type { Timer } from '../../platform/time/clock.js';

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
