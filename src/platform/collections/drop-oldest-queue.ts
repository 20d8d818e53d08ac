import { type Deferred, deferred } from '../async/promises.js';

type Result<T> = IteratorResult<T, undefined>;
const DONE = { done: true, value: undefined } as const;

/**
 * What one consumer has still to be given: everything in order, each once. Of a consumer that doesn't keep up the
 * oldest are dropped, so that the newest is never missing and what is kept has an end.
 */
export class DropOldestQueue<T> implements AsyncIterableIterator<T, undefined> {
  readonly #limit: number;
  readonly #onReturn: () => void;
  readonly #waiting: T[] = [];
  readonly #takers: Deferred<Result<T>>[] = [];
  #ended = false;

  /**
   * @param limit - how many are kept
   * @param onReturn - the consumer wants no more
   */
  constructor(limit: number, onReturn: () => void) {
    this.#limit = limit;
    this.#onReturn = onReturn;
  }

  push(value: T): void {
    if (this.#ended) return;
    const taker = this.#takers.shift();
    if (taker !== undefined) return taker.resolve({ done: false, value });
    this.#waiting.push(value);
    if (this.#waiting.length > this.#limit) this.#waiting.shift();
  }

  /** Nothing comes any more; what waits is still given. */
  end(): void {
    this.#ended = true;
    for (const taker of this.#takers.splice(0)) taker.resolve(DONE);
  }

  async next(): Promise<Result<T>> {
    if (this.#waiting.length > 0) return { done: false, value: this.#waiting.shift() as T };
    if (this.#ended) return DONE;
    const taker = deferred<Result<T>>();
    this.#takers.push(taker);
    return await taker.promise;
  }

  /** The loop was left: nothing is kept for it any more. */
  async return(): Promise<Result<T>> {
    this.#waiting.length = 0;
    this.end();
    this.#onReturn();
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
