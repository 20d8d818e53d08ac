/** Waiting, always with a bound: what never comes is what many scenarios are about. */

/** @import { Client, ClientEvent } from './contract.js' */

/**
 * A promise and what settles it.
 *
 * @template [T=void]
 */
export function deferred() {
  /** @type {(value: T) => void} */
  let resolve = () => undefined;
  /** @type {Promise<T>} */
  const promise = new Promise((onResolve) => {
    resolve = onResolve;
  });
  return { promise, resolve };
}

/**
 * Settles as `promise` does.
 *
 * @template T
 * @param {number} ms
 * @param {Promise<T>} promise
 * @param {string} otherwise what is wrong if it doesn't settle within `ms`
 * @returns {Promise<T>}
 */
export async function within(ms, promise, otherwise) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {Promise<never>} */
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${otherwise} within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Resolves when `condition` holds; looks again every few milliseconds. For what tells of itself by no event.
 *
 * @param {number} ms
 * @param {() => boolean | Promise<boolean>} condition
 * @param {string} otherwise what is wrong if it doesn't hold within `ms`
 */
export async function until(ms, condition, otherwise) {
  const deadline = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`${otherwise} within ${ms} ms`);
    await pause(10);
  }
}

/**
 * Resolves at a client's next such event.
 *
 * @param {Client} client
 * @param {ClientEvent} event
 * @returns {Promise<void>}
 */
export function happens(client, event) {
  return new Promise((resolve) => client.once(event, resolve));
}

/**
 * The code of the error that `promise` rejects with, as each of the two clients names it; `'none'` if it resolves.
 *
 * @param {Promise<unknown>} promise
 * @returns {Promise<string>}
 */
export async function codeOf(promise) {
  try {
    await promise;
    return 'none';
  } catch (error) {
    const { code, name } = /** @type {{ code?: unknown, name: string }} */ (error);
    return typeof code === 'string' ? code : name;
  }
}

/** @param {number} ms */
export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
