/** How many of the last events count. Clocks drift and computers sleep, so older events say nothing about now. */
const WINDOW = 32;

/**
 * Estimates the clock of the dashboard's process, which all times refer to. Each event says what that clock showed when the
 * event was sent. An event arrives late by an unknown time, so the least late of the last events counts.
 */
export class ClockEstimate {
  readonly #ahead: number[] = [];

  /** @param sentAt - by the dashboard's clock. @param pageNow - the page's own clock when the event came; both in milliseconds */
  observe(sentAt: number, pageNow: number): void {
    this.#ahead.push(sentAt - pageNow);
    if (this.#ahead.length > WINDOW) this.#ahead.shift();
  }

  /** The time by the dashboard's clock when the page's clock shows `pageNow`. */
  dashboardAt(pageNow: number): number {
    return this.#ahead.length === 0 ? pageNow : pageNow + Math.max(...this.#ahead);
  }
}
