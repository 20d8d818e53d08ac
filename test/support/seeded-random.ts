/** A source of random numbers that gives the same numbers for the same seed, for ever (Bob Jenkins' sfc32). */
export class Random {
  #a: number;
  #b: number;
  #c = 0x9e3779b9;
  #counter = 1;

  constructor(seed: number, stream = 0) {
    this.#a = seed | 0;
    this.#b = (Math.floor(seed / 2 ** 32) ^ Math.imul(stream + 1, 0x85ebca6b)) | 0;
    for (let round = 0; round < 15; round++) this.bits();
  }

  /** 32 bits, as a number from 0. */
  bits(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return sum >>> 0;
  }

  /** Evenly distributed over [0, 1). */
  next(): number {
    return this.bits() / 2 ** 32;
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  /** Like {@link between}, but as often from 1 to 2 as from 10 to 20: for times whose order of magnitude isn't known. */
  spread(least: number, most: number): number {
    return least * (most / least) ** this.next();
  }

  /** A whole number from 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  /** A version 4 uuid. */
  uuid(): string {
    const hex = [0, 1, 2, 3].map(() => this.bits().toString(16).padStart(8, '0')).join('');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  }
}
