import { type Deferred, deferred } from '../async/promises.js';

type Result<T> = IteratorResult<T, undefined>;
const DONE = { done: true, value: undefined } as const;

/**
 * The values that one consumer hasn't taken yet, in order. If the consumer is too slow, the oldest values are dropped, so that
 * memory is bounded.
 */
export class DropOldestQueue<T> implements AsyncIterableIterator<T, undefined> {
  readonly #limit: number;
  readonly #onReturn: () => void;
  readonly #waiting: T[] = [];
  readonly #takers: Deferred<Result<T>>[] = [];
  #ended = false;

  /** @param onReturn - called when the consumer leaves its loop */
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

  /** Ends the queue: no value follows. The consumer still gets the values that are kept. */
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
