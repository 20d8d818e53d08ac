import { StopPendingError, type StopWait } from '../../errors.js';
import { checkMs, checkOptions } from '../checks.js';
import type { Clock, Timer } from '../time/clock.js';
import { LazyAbortController } from './lazy-abort.js';
import { abortable } from './promises.js';

/** How long a `stop()` is waited for. */
export interface StopOptions {
  /**
   * After how many milliseconds the call rejects with `StopPendingError`, if all isn't done by then. It ends the waiting
   * only: what was begun goes on. 0 asks for the end without waiting for it. @default for ever
   */
  readonly timeoutMs?: number;
}

/** @throws InvalidOptionError naming the option */
export function resolveStop(given: StopOptions | undefined): number | undefined {
  const { timeoutMs } = checkOptions<StopOptions>('stop', given, ['timeoutMs']);
  return checkMs('timeoutMs', timeoutMs);
}

/** What a stop needs to know of what it stops. */
export interface StopPort {
  readonly clock: Clock;
  /** For how long nothing has to be said, in milliseconds: a lease. */
  graceMs(): number;
  /** What holds it up at this moment. */
  holdUp(): StopWait;
  /** It has been held up by what the application does for longer than the grace. Called once at most. */
  report(error: StopPendingError): void;
}

type StopState =
  | { readonly name: 'ahead' }
  | { readonly name: 'under way'; readonly sinceMs: number; readonly notice: Timer | undefined }
  | { readonly name: 'over' };

/** A stop, from when it is asked for: how long it is waited for, and who is told what holds it up. */
export class Stopping {
  readonly #port: StopPort;
  #state: StopState = { name: 'ahead' };

  constructor(port: StopPort) {
    this.#port = port;
  }

  /** It is asked for. What else is done for it is the caller's. */
  begin(): void {
    if (this.#state.name !== 'ahead') return;
    this.#state = { name: 'under way', sinceMs: this.#port.clock.now(), notice: undefined };
  }

  /** Has the port told if it takes longer than the grace. */
  watch(): void {
    if (this.#state.name !== 'under way' || this.#state.notice !== undefined) return;
    const { clock } = this.#port;
    const graceMs = this.#port.graceMs();
    const notice = clock.after(Math.max(0, this.#state.sinceMs + graceMs - clock.now()), () => {
      const holdUp = this.#port.holdUp();
      // Servers are waited for in bounded time, which isn't worth a word.
      if (holdUp.by !== 'servers') this.#port.report(new StopPendingError(graceMs, holdUp));
    });
    this.#state = { ...this.#state, notice };
  }

  /** All is done. */
  end(): void {
    if (this.#state.name === 'under way') this.#state.notice?.clear();
    this.#state = { name: 'over' };
  }

  /** Whether it has gone on for longer than the grace. */
  get isOverdue(): boolean {
    if (this.#state.name !== 'under way') return false;
    return this.#port.clock.now() - this.#state.sinceMs >= this.#port.graceMs();
  }

  /**
   * Waits for `ended`, which must not reject.
   *
   * @throws StopPendingError if that takes longer than `timeoutMs`
   */
  async wait(ended: Promise<unknown>, timeoutMs: number | undefined): Promise<void> {
    if (timeoutMs === undefined) {
      await ended;
      return;
    }
    const patience = new LazyAbortController<StopPendingError>();
    const timer = this.#port.clock.after(timeoutMs, () =>
      patience.abort(new StopPendingError(timeoutMs, this.#port.holdUp())),
    );
    try {
      await abortable(ended, patience);
    } finally {
      timer.clear();
    }
  }
}
