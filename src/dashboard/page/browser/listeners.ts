/** Functions that are to be called each time something happens. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** Returns a function that removes the listener. */
  add(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
