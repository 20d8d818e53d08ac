/** How many of the last events count. Clocks drift, and computers sleep: what was seen long ago says nothing. */
const WINDOW = 32;

/**
 * Estimates the clock of the dashboard's process, by which all times are. Each event says what that clock showed when it was sent. It is
 * late by an unknown time, so the least late of the last events counts.
 */
export class ClockEstimate {
  readonly #ahead: number[] = [];

  /** @param sentAt - by the dashboard's clock. @param pageNow - the page's own clock when the event came; both in milliseconds */
  observe(sentAt: number, pageNow: number): void {
    this.#ahead.push(sentAt - pageNow);
    if (this.#ahead.length > WINDOW) this.#ahead.shift();
  }

  /** What the dashboard's clock shows when the page's shows this. */
  dashboardAt(pageNow: number): number {
    return this.#ahead.length === 0 ? pageNow : pageNow + Math.max(...this.#ahead);
  }
}
