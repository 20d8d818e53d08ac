import { StopPendingError, type StopWait } from '../../errors.js';
import { checkMs, checkOptions } from '../checks.js';
import type { Clock, Timer } from '../time/clock.js';
import { nextTick } from '../time/timers.js';
import { LazyAbortController } from './lazy-abort-controller.js';
import { abortable } from './promises.js';

/** The options of a `stop()`. */
export interface StopOptions {
  /**
   * How long the call waits for the stop, in milliseconds. After that it rejects with `StopPendingError`, and the stop goes on.
   * With 0 the call doesn't wait at all. @default forever
   */
  readonly timeoutMs?: number;
}

export function resolveStop(given: StopOptions | undefined): number | undefined {
  const { timeoutMs } = checkOptions<StopOptions>('stop', given, ['timeoutMs']);
  return checkMs('timeoutMs', timeoutMs);
}

export interface StopPort {
  readonly clock: Clock;
  /** How long a stop may take without a report, in milliseconds: a lease. */
  graceMs(): number;
  /** The reason why the stop isn't done yet. */
  holdUp(): StopWait;
  /** Called at most once, when the stop has waited for the application's code for longer than the grace. */
  report(error: StopPendingError): void;
}

type StopState =
  | { readonly name: 'idle' }
  | { readonly name: 'stopping'; readonly sinceMs: number; readonly notice: Timer | undefined }
  | { readonly name: 'stopped' };

/** One stop. It bounds the time for which callers wait, and reports what holds the stop up if it takes long. */
export class StopWithTimeout {
  readonly #port: StopPort;
  #state: StopState = { name: 'idle' };

  constructor(port: StopPort) {
    this.#port = port;
  }

  /** Called at the beginning of the stop. The caller does the work of the stop. */
  begin(): void {
    if (this.#state.name !== 'idle') return;
    this.#state = { name: 'stopping', sinceMs: this.#port.clock.now(), notice: undefined };
  }

  /** Reports to the port if the stop takes longer than the grace. Work that can be done at once goes first. */
  watch(): void {
    nextTick(() => this.#watch());
  }

  #watch(): void {
    if (this.#state.name !== 'stopping' || this.#state.notice !== undefined) return;
    const { clock } = this.#port;
    const graceMs = this.#port.graceMs();
    const notice = clock.after(Math.max(0, this.#state.sinceMs + graceMs - clock.now()), () => {
      const holdUp = this.#port.holdUp();
      // The wait for servers is bounded, so it needs no report.
      if (holdUp.by !== 'servers') this.#port.report(new StopPendingError(Math.round(graceMs), holdUp));
    });
    this.#state = { ...this.#state, notice };
  }

  end(): void {
    if (this.#state.name === 'stopping') this.#state.notice?.clear();
    this.#state = { name: 'stopped' };
  }

  /** Whether the stop has taken longer than the grace. */
  get isOverdue(): boolean {
    if (this.#state.name !== 'stopping') return false;
    return this.#port.clock.now() - this.#state.sinceMs >= this.#port.graceMs();
  }

  /** Waits for `ended`, which must not reject. @throws StopPendingError if that takes longer than `timeoutMs` */
  async wait(ended: Promise<unknown>, timeoutMs: number | undefined): Promise<void> {
    if (timeoutMs === undefined) {
      await ended;
      return;
    }
    const timeout = new LazyAbortController<StopPendingError>();
    const timer = this.#port.clock.after(timeoutMs, () =>
      timeout.abort(new StopPendingError(timeoutMs, this.#port.holdUp())),
    );
    try {
      await abortable(ended, timeout);
    } finally {
      timer.clear();
    }
  }
}
