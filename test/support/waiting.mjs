/** Waiting, always with a bound. It runs in plain Node. */

/**
 * A promise and the functions that settle it.
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
 * Resolves when `condition` is true. It looks again every few milliseconds. For changes without an event.
 *
 * @param {() => boolean | Promise<boolean>} condition
 * @param {string} [what]
 * @param {number} [limitMs]
 */
export async function until(condition, what = 'the condition', limitMs = 20_000) {
  const deadline = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`${what} did not come true within ${limitMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Lets everything run that is ready, and everything that follows. */
export function settle() {
  return new Promise((resolve) => setImmediate(resolve));
}
