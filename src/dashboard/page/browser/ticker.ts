const TICK_MS = 1_000;

/** Calls all that shows a time, once a second; not while the page isn't seen. */
export class Ticker {
  readonly #ticked = new Set<() => void>();

  start(): void {
    setInterval(() => {
      if (!document.hidden) this.tick();
    }, TICK_MS);
    document.addEventListener('visibilitychange', () => this.tick());
  }

  tick(): void {
    for (const each of this.#ticked) each();
  }

  /** Returns what ends it. */
  add(each: () => void): () => void {
    this.#ticked.add(each);
    return () => this.#ticked.delete(each);
  }
}
