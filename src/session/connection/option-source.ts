import { InvalidOptionError } from '../../errors.js';
import { callOnce } from '../../platform/async/promises.js';

/** How a call of an option's function has ended: `wrong` if it gave a value that the option doesn't accept, `failed` if it threw. */
export type OptionAnswer =
  | { readonly name: 'given' }
  | { readonly name: 'wrong'; readonly error: InvalidOptionError }
  | { readonly name: 'failed'; readonly error: unknown };

/** @throws InvalidOptionError with `name`. @param former - the value before, if there was one */
type Check<T> = (value: unknown, name: string, former: T | undefined) => T;

/** An option of a session that is a value, or a function that is asked for one before each round of servers. */
export class OptionSource<T> {
  /** As errors and logs call it: `tls`, or `session.tls()` for a function. */
  readonly name: string;
  readonly #function: (() => unknown) | undefined;
  readonly #check: Check<T>;
  #value: T | undefined;
  #asking: Promise<OptionAnswer> | undefined; // Until the call has ended.

  /** @throws InvalidOptionError for a wrong value. A function isn't called yet. */
  constructor(given: unknown, check: Check<T>, name: string, functionName = `session.${name}()`) {
    this.#check = check;
    if (typeof given === 'function') {
      this.#function = given as () => unknown;
      this.name = functionName;
    } else {
      this.name = name;
      this.#value = check(given, name, undefined);
    }
  }

  get isFunction(): boolean {
    return this.#function !== undefined;
  }

  /** The newest value; `undefined` before a function has given one. */
  get newest(): T | undefined {
    return this.#value;
  }

  /** As {@link newest}, once there is one. Callers ask first. */
  get value(): T {
    return this.#value as T;
  }

  /** Asks the function. While an earlier call hasn't ended, the answer is that one's. Never rejects. */
  ask(): Promise<OptionAnswer> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<OptionAnswer> {
    if (this.#function === undefined) return { name: 'given' };
    let given: unknown;
    try {
      given = await callOnce(calls, this.#function, this.#function);
    } catch (error) {
      return { name: 'failed', error };
    }
    try {
      this.#value = this.#check(given, this.name, this.#value);
      return { name: 'given' };
    } catch (error) {
      return error instanceof InvalidOptionError ? { name: 'wrong', error } : { name: 'failed', error };
    }
  }
}

/** What a search needs of an option that may be a function. */
export type AskedOption = Pick<OptionSource<unknown>, 'name' | 'isFunction' | 'ask'>;

/** The calls that haven't ended. The sessions of an owner follow one another, and each has sources of its own for the same functions. */
const calls = new WeakMap<() => unknown, Promise<unknown>>();
