import type { Clock, Timer } from '../../src/platform/time/clock.js';

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #now = 0;
  readonly #timers = new Map<Timer, { at: number; task: () => void }>();

  now(): number {
    return this.#now;
  }

  date(): Date {
    return new Date(this.#now);
  }

  after(ms: number, task: () => void): Timer {
    const timer: Timer = { clear: () => this.#timers.delete(timer) };
    this.#timers.set(timer, { at: this.#now + Math.max(0, ms), task });
    return timer;
  }

  /** How many timers are running. */
  get running(): number {
    return this.#timers.size;
  }

  /** Lets time pass. Runs the timers that become due in their order, and everything that follows at once. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const due = [...this.#timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)[0];
      if (due === undefined) break;
      const [timer, { at, task }] = due;
      this.#timers.delete(timer);
      this.#now = Math.max(this.#now, at);
      task();
      await settle();
    }
    this.#now = end;
  }

  /** Lets time pass without running a timer, as with a blocked event loop or a suspended process. */
  jump(ms: number): void {
    this.#now += ms;
  }
}

/** Lets everything run that is ready, and everything that follows. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
