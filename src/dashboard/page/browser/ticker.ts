const TICK_MS = 1_000;

/** Updates all times on the page once a second, while the page is visible. */
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

  /** Calls `each` at each tick. Returns a function that ends this. */
  add(each: () => void): () => void {
    this.#ticked.add(each);
    return () => this.#ticked.delete(each);
  }
}
